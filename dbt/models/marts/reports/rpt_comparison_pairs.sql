{%- set families = ['trainium', 'tpu'] %}

with sides as (
    select
        workload_key,
        pair_key
        {%- for family in families %},
        max(case when accelerator_family = '{{ family }}' then mean_tokens end) as {{ family }}_tokens,
        max(case when accelerator_family = '{{ family }}' then mean_model_flops end) as {{ family }}_model_flops
        {%- endfor %}
    from {{ ref('int_comparison_sides') }}
    group by workload_key, pair_key
)

select
    pairs.window_start,
    pairs.window_end,
    pairs.workload_key,
    pairs.pair_key,
    pairs.kpi,
    pairs.factor_view,
    pairs.setting,
    pairs.unit,
    {%- for family in families %}
    pairs.{{ family }}_accelerator_type,
    pairs.{{ family }}_region_id,
    pairs.{{ family }}_run_count,
    {%- for end in ['', '_low', '_high'] %}
    {{ significant('pairs.' ~ family ~ '_value' ~ end) }} as {{ family }}_value{{ end }},
    {%- endfor %}
    {%- endfor %}
    {{ significant('exp(cast(pairs.log_ratio as double))') }} as ratio,
    {{ significant('exp(cast(pairs.log_ratio_low as double))') }} as ratio_corner_low,
    {{ significant('exp(cast(pairs.log_ratio_high as double))') }} as ratio_corner_high,
    pairs.basis_class,
    pairs.is_power_assumed,
    pairs.registered_by,
    pairs.evidence_of_time,
    pairs.promise,
    pairs.promise_broken_field,
    pairs.cluster_start,
    {%- for family in families %}
    pairs.{{ family }}_purchase,
    pairs.{{ family }}_region_id as {{ family }}_region,
    pairs.{{ family }}_software,
    pairs.{{ family }}_team,
    pairs.{{ family }}_launches,
    pairs.{{ family }}_reached,
    {{ significant('sides.' ~ family ~ '_tokens') }} as {{ family }}_tokens,
    {{ significant('sides.' ~ family ~ '_model_flops') }} as {{ family }}_model_flops,
    {%- endfor %}
    pairs.missing_side,
    pairs.use as used_as,
    pairs.use_reason,
    case
        when pairs.use_reason = 'currency'
            then 'The costs of this pair are in another currency than ' || coalesce(pairs.unit, 'that of the workload')
                || ', and fx_rates has no rate for one of its months: add the rate of the month''s last days.'
        when
            pairs.promise = 'fixed_work'
            and greatest(sides.trainium_model_flops, sides.tpu_model_flops)
            > 1.05e0 * least(sides.trainium_model_flops, sides.tpu_model_flops)
            then 'The two sides did the same tokens with operations that differ by more than 5 %.'
    end as remark
from {{ ref('int_comparison_window_pairs') }} as pairs
left join sides on pairs.workload_key = sides.workload_key and pairs.pair_key = sides.pair_key

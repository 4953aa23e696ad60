{%- set look = 'quarter_end, workload_key, kpi, factor_view, basis_class' %}

with look_pairs as (
    {{ pairs_behind_looks('looks.cluster_count >= 6') }}
),

pairs as (
    {%- for kind in ['team', 'accelerator', 'region', 'software', 'purchase'] %}
    select
        {{ look }},
        '{{ kind }}' as stratum_kind,
        'Trainium: ' || trainium_{{ kind }} || '; TPU: ' || tpu_{{ kind }} as stratum,
        log_ratio
    from look_pairs
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

{{ strata_test(look ~ ', stratum_kind') }}

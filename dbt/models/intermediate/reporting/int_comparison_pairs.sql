{%- set key = 'window_start, window_end, workload_key, pair_key, kpi, factor_view, setting' %}
{%- set ends = ['', '_low', '_high'] %}

-- replicates of one side: their geometric mean, where each of them has the figure
with sides as (
    select
        members.window_start,
        members.window_end,
        members.workload_key,
        members.pair_key,
        figures.kpi,
        figures.factor_view,
        figures.setting,
        members.accelerator_family,
        min(figures.unit) as unit,
        count(*) as run_count,
        min(members.accelerator_type) as first_type,
        max(members.accelerator_type) as last_type,
        min(members.region_id) as first_region,
        max(members.region_id) as last_region,
        min(figures.first_basis) as first_basis,
        max(figures.last_basis) as last_basis,
        bool_or(figures.is_power_assumed) as is_power_assumed
        {%- for end in ends %},
        case
            when count(*) = count({{ exact_log('figures.value' ~ end) }}) and min(figures.unit) = max(figures.unit)
                then {{ mean_log(exact_log('figures.value' ~ end)) }}
        end as log_value{{ end }}
        {%- endfor %}
    from {{ ref('int_comparison_members') }} as members
    inner join {{ ref('int_comparison_figures') }} as figures on members.training_run_id = figures.training_run_id
    where members.is_in_pair
    group by
        members.window_start, members.window_end, members.workload_key, members.pair_key, figures.kpi, figures.factor_view,
        figures.setting, members.accelerator_family
),

named as (
    select
        *,
        case when first_type = last_type then first_type else first_type || ', ' || last_type end as accelerator_type,
        case when first_region = last_region then first_region else first_region || ', ' || last_region end as region_id
    from sides
    where log_value is not null
),

trainium as (
    select * from named
    where accelerator_family = 'trainium'
),

tpu as (
    select * from named
    where accelerator_family = 'tpu'
),

pairs as (
    select
        {{ key }},
        -- costs in two currencies have no ratio
        unit,
        trainium.run_count as trainium_run_count,
        tpu.run_count as tpu_run_count
        {%- for family in ['trainium', 'tpu'] %},
        {{ family }}.accelerator_type as {{ family }}_accelerator_type,
        {{ family }}.region_id as {{ family }}_region_id,
        {%- for end in ends %}
        exp({{ family }}.log_value{{ end }}) as {{ family }}_value{{ end }}{{ ',' if not loop.last }}
        {%- endfor %}
        {%- endfor %},
        -- 'measured', 'modelled', or 'mixed' where the two sides or the months of one are not alike
        case
            when least(trainium.first_basis, tpu.first_basis) = greatest(trainium.last_basis, tpu.last_basis)
                then trainium.first_basis
            else 'mixed'
        end as basis_class,
        coalesce(trainium.is_power_assumed or tpu.is_power_assumed, true) as is_power_assumed,
        cast(tpu.log_value - trainium.log_value as decimal(18, 12)) as log_ratio,
        cast(tpu.log_value_low - trainium.log_value_high as decimal(18, 12)) as log_ratio_low,
        cast(tpu.log_value_high - trainium.log_value_low as decimal(18, 12)) as log_ratio_high
    from trainium
    inner join tpu using ({{ key }}, unit)
)

/* pairs */
select * from pairs
/* end of pairs */

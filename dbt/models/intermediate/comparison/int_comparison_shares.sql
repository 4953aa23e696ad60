{%- set look = 'quarter_end, workload_key, kpi, factor_view, basis_class' %}
{%- set providers = [('trainium', 'AWS'), ('tpu', 'Google Cloud')] %}

-- what accelerators cost, by type: of runs, and of no run; rows without a type are of every type of their provider
with accelerator_costs as (
    select
        costs.usage_month,
        costs.provider_name,
        costs.billing_currency,
        coalesce(runs.accelerator_type, '') as accelerator_type,
        costs.effective_cost,
        cast(0 as decimal(38, 12)) as residual_cost
    from {{ ref('fct_run_cell_costs') }} as costs
    left join {{ ref('dim_training_runs') }} as runs using (training_run_id)
    where costs.cost_component = 'accelerator'
    union all
    select usage_month, provider_name, billing_currency, accelerator_type, effective_cost, effective_cost as residual_cost
    from {{ ref('fct_residual_costs') }}
    where {{ is_of_accelerators() }}
),

month_costs as (
    select
        usage_month, provider_name, billing_currency, accelerator_type,
        sum(effective_cost) as accelerator_cost,
        sum(residual_cost) as residual_cost
    from accelerator_costs
    -- what a run cost without a known type is of no type compared here
    where accelerator_type <> '' or residual_cost <> 0
    group by usage_month, provider_name, billing_currency, accelerator_type
),

look_pairs as (
    {{ pairs_behind_looks("looks.kpi like 'cost%'", ['first_cluster_start']) }}
),

types as (
    {%- for family, provider in providers %}
    select distinct
        {{ look }},
        first_cluster_start,
        '{{ provider }}' as provider_name,
        ', ' || {{ family }}_accelerator || ', ' as accelerator_types
    from look_pairs
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

matched as (
    select distinct
        types.quarter_end, types.workload_key, types.kpi, types.factor_view, types.basis_class, types.provider_name,
        months.billing_currency, months.usage_month, months.accelerator_type, months.accelerator_cost, months.residual_cost
    from types
    inner join month_costs as months
        on
            types.provider_name = months.provider_name
            and months.usage_month >= date_trunc('month', types.first_cluster_start) and months.usage_month < types.quarter_end
            and (
                months.accelerator_type = ''
                or strpos(types.accelerator_types, ', ' || months.accelerator_type || ', ') > 0
            )
),

currencies as (
    select
        {{ look }}, provider_name, billing_currency,
        case
            when sum(accelerator_cost) > 0 then cast(sum(residual_cost) as double) / cast(sum(accelerator_cost) as double)
        end as share
    from matched
    group by {{ look }}, provider_name, billing_currency
)

select
    {{ look }}
    {%- for family, provider in providers %},
    min(case when provider_name = '{{ provider }}' then share end) as {{ family }}_least_share,
    max(case when provider_name = '{{ provider }}' then share end) as {{ family }}_share
    {%- endfor %}
from currencies
group by {{ look }}

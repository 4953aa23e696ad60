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
)

select
    usage_month,
    provider_name,
    billing_currency,
    accelerator_type,
    cast(sum(effective_cost) as decimal(38, 12)) as accelerator_cost,
    cast(sum(residual_cost) as decimal(38, 12)) as residual_cost
from accelerator_costs
-- what a run cost without a known type is of no type compared here
where accelerator_type <> '' or residual_cost <> 0
group by usage_month, provider_name, billing_currency, accelerator_type

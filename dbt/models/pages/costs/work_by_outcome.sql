with parts as (
    select quarters.quarter, runs.state as outcome, costs.billing_currency, costs.training_run_id, costs.effective_cost
    from {{ ref('fct_training_run_costs') }} as costs
    {{ of_quarters() }}
    inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
    union all
    select
        quarters.quarter,
        case costs.reason
            when 'idle' then 'idle'
            when 'unused_commitment' then 'unused commitment'
            when 'unlogged' then 'named by no record'
            else 'no records kept'
        end as outcome,
        costs.billing_currency,
        null as training_run_id,
        costs.effective_cost
    from {{ ref('fct_residual_costs') }} as costs
    {{ of_quarters() }}
    where
        costs.reason in ('idle', 'unused_commitment')
        or (costs.reason in ('unlogged', 'no_record') and costs.cost_component = 'accelerator')
)

select
    quarter,
    outcome,
    billing_currency,
    nullif(count(distinct training_run_id), 0) as run_count,
    {{ whole('effective_cost') }} as effective_cost,
    {{ outcome_position() }} as position
from parts
group by quarter, outcome, billing_currency

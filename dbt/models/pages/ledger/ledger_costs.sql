-- of rows without a bill the cost is 0 in some currency, of hours without a price null: ledger_unknown has how many there are
select
    costs.usage_month, {{ ledger_cell('runs') }}, costs.billing_currency as currency,
    cast(coalesce(sum(costs.effective_cost), 0) as decimal(38, 12)) as effective_cost,
    cast(sum(costs.billed_cost) as decimal(38, 12)) as billed_cost
from {{ ref('fct_training_run_costs') }} as costs
inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
group by all

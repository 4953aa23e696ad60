select
    quarters.*, costs.usage_month, costs.billing_currency, runs.accelerator_family, cast(null as varchar) as reason,
    costs.billed_cost, costs.effective_cost
from {{ ref('fct_training_run_costs') }} as costs
{{ of_quarters() }}
inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
union all
select
    quarters.*, costs.usage_month, costs.billing_currency, null as accelerator_family, costs.reason,
    costs.billed_cost, costs.effective_cost
from {{ ref('fct_residual_costs') }} as costs
{{ of_quarters() }}

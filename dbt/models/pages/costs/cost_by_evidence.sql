select
    quarters.quarter,
    costs.attribution_rule,
    costs.attribution_confidence,
    costs.cost_component,
    costs.billing_currency,
    count(distinct costs.training_run_id) as run_count,
    {{ whole('effective_cost') }} as effective_cost,
    {{ whole('billed_cost') }} as billed_cost,
    {{ whole('list_cost') }} as list_cost
from {{ ref('fct_training_run_costs') }} as costs
{{ of_quarters() }}
group by all

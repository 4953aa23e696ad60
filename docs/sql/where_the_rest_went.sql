-- What do runs not carry, month by month, and why? spread_effective_cost is what the fully loaded view would give to runs.
-- The rows, with account, service and region, are those of marts.fct_residual_costs, here they are added up by month.
select
    usage_month,
    billing_currency,
    reason,
    sum(billed_cost) as billed_cost,
    sum(effective_cost) as effective_cost,
    sum(spread_effective_cost) as spread_effective_cost
from ops.residual_months
group by all
order by usage_month, billing_currency, effective_cost desc, reason;

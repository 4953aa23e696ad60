-- What do runs not carry, month by month, and why? spread_effective_cost is what the fully loaded view would give to runs.
select
    usage_month,
    billing_currency,
    reason,
    sum(billed_cost) as billed_cost,
    sum(effective_cost) as effective_cost,
    sum(spread_effective_cost) as spread_effective_cost
from marts.fct_residual_costs
group by all
order by usage_month, billing_currency, effective_cost desc, reason;

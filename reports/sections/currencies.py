"""Cost in the currencies of the bills, never added; and that of runs in the reporting currency beside them."""

from reports.sections.sql import PARTS, parts_of, whole, within
from reports.sections.tables import summed

COSTS = {
    f"{part}_{measure}_cost": f"coalesce(sum({measure}_cost){only}, 0)"
    for measure in ("effective", "billed")
    for part, only in PARTS
}
BY_CURRENCY = summed(
    "totals_by_currency",
    "parts",
    before=parts_of("costs", "provider_name, billing_currency, billed_cost, effective_cost"),
    total="billing_currency",
    **COSTS,
)

IN_REPORTING_CURRENCY = summed(
    "cost_in_reporting_currency",
    "costs",
    "is_total, billing_currency, usage_month",
    before=f"""costs as (
    select costs.*,
        coalesce(rates.quote_currency, case when costs.reporting_currency_effective_cost is not null
            then costs.billing_currency end) as currency,
        rates.rate, rates.source
    from marts.fct_training_run_costs as costs
    left join marts.dim_fx_rates as rates
        on costs.fx_rate_date = rates.rate_date and costs.billing_currency = rates.base_currency
            and rates.is_to_reporting_currency
    where {within("costs.usage_month")}
)""",
    total="",
    having="(select bool_or(fx_rate_date is not null or reporting_currency_effective_cost is null) from costs)",
    effective_cost="case when grouping(usage_month) = 0 then sum(effective_cost) end",
    reporting_currency="max(currency)",
    reporting_currency_effective_cost=whole("reporting_currency_effective_cost"),
    fx_rate="case when grouping(usage_month) = 0 then max(rate) end",
    fx_rate_date="case when grouping(usage_month) = 0 then max(fx_rate_date) end",
    source="case when grouping(usage_month) = 0 then max(costs.source) end",
)

"""Cost in the currencies of the bills, never added; and that of runs in the reporting currency beside them."""

from reports.sections.sql import PARTS, whole, within
from reports.sections.tables import table

MEASURES = ("effective", "billed")
COSTS = ",\n    ".join(
    f"{f'coalesce(sum({measure}_cost){only}, 0)' if only else f'sum({measure}_cost)'} as {part}_{measure}_cost"
    for measure in MEASURES
    for part, only in PARTS
)
BY_CURRENCY = table("totals_by_currency").answered_by(f"""with parts as (
    select true as is_run, provider_name, billing_currency, billed_cost, effective_cost
    from marts.fct_run_cell_costs
    where {within()}
    union all
    select false, provider_name, billing_currency, billed_cost, effective_cost
    from marts.fct_residual_costs
    where {within()}
)
select provider_name, billing_currency,
    {COSTS},
    grouping(provider_name) > 0 as is_total
from parts
group by grouping sets ((billing_currency, provider_name), (billing_currency))
order by billing_currency, is_total, provider_name""")

IN_REPORTING_CURRENCY = table("cost_in_reporting_currency").answered_by(f"""with costs as (
    select costs.*,
        coalesce(rates.quote_currency, case when costs.reporting_currency_effective_cost is not null
            then costs.billing_currency end) as reporting_currency,
        rates.rate, rates.source
    from marts.fct_training_run_costs as costs
    left join marts.dim_fx_rates as rates
        on costs.fx_rate_date = rates.rate_date and costs.billing_currency = rates.base_currency
            and rates.is_to_reporting_currency
    where {within("costs.usage_month")}
)
select billing_currency, usage_month, sum(effective_cost) as effective_cost,
    max(reporting_currency) as reporting_currency,
    {whole("reporting_currency_effective_cost")},
    max(rate) as fx_rate, max(fx_rate_date) as fx_rate_date, max(source) as source,
    false as is_total
from costs
where (select bool_or(fx_rate_date is not null or reporting_currency_effective_cost is null) from costs)
group by billing_currency, usage_month
union all
select null, null, null, max(reporting_currency), {whole("reporting_currency_effective_cost")}, null, null, null, true
from costs
having bool_or(fx_rate_date is not null or reporting_currency_effective_cost is null)
order by is_total, billing_currency, usage_month""")

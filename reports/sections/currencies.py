"""Cost in the currencies of the bills, never added; and that of runs in the reporting currency beside them."""

from reports.model import Column, TableSpec, columns
from reports.sections.sql import PARTS, run_rest_all, whole, within

NO_RATE = "a rate is missing: none of the last eight days of the month was given"
NO_CONVERSION = "nothing converted"
MEASURES = ("effective", "billed")
COSTS = ",\n    ".join(
    f"{f'coalesce(sum({measure}_cost){only}, 0)' if only else f'sum({measure}_cost)'} as {part}_{measure}_cost"
    for measure in MEASURES
    for part, only in PARTS
)
BY_CURRENCY = TableSpec(
    id="totals_by_currency",
    title="Cost by cloud, one total per currency",
    sql=f"""with parts as (
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
order by billing_currency, is_total, provider_name""",
    columns=(
        *columns(provider_name="Cloud", billing_currency="Currency"),
        *(column for measure in MEASURES for column in run_rest_all(f"{measure}_cost", f"{measure.title()} cost")),
    ),
    method="Months billed so far. Effective: commitments over the hours they serve, promotions and credits apart. Billed: "
    "the invoice's. Currencies are never added and nothing here is converted.",
    empty="No bill in this quarter.",
)

IN_REPORTING_CURRENCY = TableSpec(
    id="cost_in_reporting_currency",
    title="Effective cost of runs in the reporting currency, beside the bill's own",
    sql=f"""with costs as (
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
order by is_total, billing_currency, usage_month""",
    columns=(
        *columns(billing_currency="Currency", usage_month="Month"),
        *columns(note="currencies are never added", effective_cost="Effective cost"),
        *columns("code", note=NO_RATE, reporting_currency="Converted into"),
        Column("reporting_currency_effective_cost", "Converted", "amount", note=NO_RATE),
        Column("fx_rate", "Rate", "number", note=NO_CONVERSION),
        *columns(note=NO_CONVERSION, fx_rate_date="Rate of"),
        Column("source", "Source of the rate", note="not stated, or nothing converted", is_dropped_when_empty=True),
    ),
    key=("billing_currency", "usage_month"),
    method="Each row of a run at the latest rate of the last eight days of its month, as the organisation gave it, half away "
    "from zero at twelve decimals. A cost in the reporting currency stands as it is. Only costs of runs are converted; the "
    "figures of the ledger stay in the currency of the bill.",
    is_dropped_when_empty=True,
)

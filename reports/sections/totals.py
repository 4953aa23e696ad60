"""Section 1, the tables under the five figures: one total per currency, and the two emission totals side by side."""

from reports.model import Column, TableSpec, columns
from reports.sections.sql import EMISSION_PARTS, PARTS, PRESENCE, WAYS, run_rest_all, within

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

SCOPES = (
    ("Provider Scope 1", "provider_scope_1_kgco2e", "provider_scope_1_kgco2e"),
    ("Provider Scope 2", "provider_scope_2_location_based_kgco2e", "provider_scope_2_market_based_kgco2e"),
    ("Provider Scope 3", "provider_scope_3_location_based_kgco2e", "provider_scope_3_market_based_kgco2e"),
    ("Provider Scope 3, not split by method", "provider_scope_3_unsplit_kgco2e", "provider_scope_3_unsplit_kgco2e"),
    ("Provider total", "provider_total_location_based_kgco2e", "provider_total_market_based_kgco2e"),
)
BY_SCOPE = "\n    union all\n".join(
    f"    select {n} as position, '{label}' as scope, provider_name, is_run, {location} as location_based, {market} as "
    "market_based from parts"
    for n, (label, location, market) in enumerate(SCOPES)
)
NOT_SPLIT = "a carbon month is not published (section 4 has those that are), or the provider gives no such split"
MASSES = ",\n".join(
    f"    case when bool_and(complete.has_carbon) and count(*) = count({way}_based)\n"
    f"        then coalesce(sum({way}_based){only}, 0) end as {part}_{way}_based_kgco2e"
    for way in WAYS
    for part, only in PARTS
)
TOTALS_TWICE = TableSpec(
    id="totals_twice",
    title="Two totals, side by side: provider emissions by scope and method",
    sql=f"""with {PRESENCE},
{EMISSION_PARTS},
complete as (
    select provider_name, bool_and(has_carbon) as has_carbon from presence where is_this_quarter group by provider_name
),
scopes as (
{BY_SCOPE}
)
select provider_name, scope,
{MASSES},
    scope = 'Provider total' as is_total
from scopes
inner join complete using (provider_name)
group by provider_name, scope, position
having scope not like 'Provider Scope 3%' or count(location_based) + count(market_based) > 0
order by provider_name, position""",
    columns=(
        Column("provider_name", "Provider", is_quiet_when_repeated=True),
        Column("scope", "Provider's scope"),
        *(column for way in WAYS for column in run_rest_all(f"{way}_based_kgco2e", f"{way.title()}-based", NOT_SPLIT)),
    ),
    method="Provider-reported masses of the elected model version. The location-based and the market-based column are two "
    "answers to one question and are never added. Scope 1 has no method and is in both; so does a Scope 3 that the "
    "provider does not split. Section 4 names the model version of each month. Quarantined rows are not in these sums.",
    empty="No provider emission row in this quarter.",
)

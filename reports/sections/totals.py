"""Section 1, the tables under the five figures: one total per currency, and the two emission totals side by side."""

from reports.model import Column, TableSpec, columns
from reports.quarter import Quarter
from reports.sections.sql import emission_parts, presence, within


def by_currency(quarter: Quarter) -> TableSpec:
    """What each cloud billed in each currency, and how much of it the runs carry. Nothing is converted, nothing added across."""
    sums = ",\n    ".join(
        f"coalesce(sum({measure}_cost) filter (where {condition}), 0) as {part}_{measure}_cost"
        if condition
        else f"sum({measure}_cost) as {part}_{measure}_cost"
        for measure in ("effective", "billed")
        for part, condition in (("run", "is_run"), ("rest", "not is_run"), ("all", ""))
    )
    return TableSpec(
        id="totals_by_currency",
        title="Cost by cloud, one total per currency",
        sql=f"""with parts as (
    select true as is_run, provider_name, billing_currency, billed_cost, effective_cost
    from marts.fct_run_cell_costs
    where {within(quarter)}
    union all
    select false, provider_name, billing_currency, billed_cost, effective_cost
    from marts.fct_residual_costs
    where {within(quarter)}
)
select provider_name, billing_currency,
    {sums},
    grouping(provider_name) > 0 as is_total
from parts
group by grouping sets ((billing_currency, provider_name), (billing_currency))
order by billing_currency, is_total, provider_name""",
        columns=(
            *columns(provider_name="Cloud", billing_currency="Currency"),
            *(
                Column(f"{part}_{measure}_cost", words, "money", group=f"{measure.title()} cost")
                for measure in ("effective", "billed")
                for part, words in (("run", "Runs"), ("rest", "No run"), ("all", "Total"))
            ),
        ),
        key=("billing_currency", "provider_name"),
        method="Months billed so far. Effective: commitments over the hours they serve, promotions and credits apart. Billed: "
        "the invoice's. Currencies are never added and nothing here is converted.",
        empty="No bill in this quarter.",
    )


def totals_table(quarter: Quarter) -> TableSpec:
    """The two totals, scope by scope, side by side. No row and no column ever adds one method to the other."""
    scopes = [("Provider Scope 1", "provider_scope_1_kgco2e", "provider_scope_1_kgco2e")]
    scopes += [
        (f"Provider Scope {n}", f"provider_scope_{n}_location_based_kgco2e", f"provider_scope_{n}_market_based_kgco2e")
        for n in (2, 3)
    ]
    scopes += [("Provider Scope 3, not split by method", "provider_scope_3_unsplit_kgco2e", "provider_scope_3_unsplit_kgco2e")]
    scopes += [("Provider total", "provider_total_location_based_kgco2e", "provider_total_market_based_kgco2e")]
    selects = "\n    union all\n".join(
        f"    select {n} as position, '{label}' as scope, provider_name, is_run, {location} as location_based, {market} as "
        "market_based from parts"
        for n, (label, location, market) in enumerate(scopes)
    )
    columns = [Column("provider_name", "Provider", is_quiet_when_repeated=True), Column("scope", "Provider's scope")]
    for way in ("location", "market"):
        for part, words in (("run", "Runs"), ("rest", "No run"), ("all", "Total")):
            note = "a carbon month is not published (section 4 has those that are), or the provider gives no such split"
            columns.append(Column(f"{part}_{way}_based_kgco2e", words, "mass", note=note, group=f"{way.title()}-based"))
    sums = ",\n".join(
        f"    case when bool_and(complete.has_carbon) and count(*) = count({way}_based)\n"
        f"        then coalesce(sum({way}_based){only}, 0) end as {part}_{way}_based_kgco2e"
        for way in ("location", "market")
        for part, only in (("run", " filter (where is_run)"), ("rest", " filter (where not is_run)"), ("all", ""))
    )
    return TableSpec(
        id="totals_twice",
        title="Two totals, side by side: provider emissions by scope and method",
        sql=f"""with {presence(quarter)},
{emission_parts(quarter)},
complete as (
    select provider_name, bool_and(has_carbon) as has_carbon from presence where is_this_quarter group by provider_name
),
scopes as (
{selects}
)
select provider_name, scope,
{sums},
    scope = 'Provider total' as is_total
from scopes
inner join complete using (provider_name)
group by provider_name, scope, position
having scope not like 'Provider Scope 3%' or count(location_based) + count(market_based) > 0
order by provider_name, position""",
        columns=tuple(columns),
        key=("provider_name", "scope"),
        method="Provider-reported masses of the elected model version. The location-based and the market-based column are two "
        "answers to one question and are never added. Scope 1 has no method and is in both; so does a Scope 3 that the "
        "provider does not split. Section 4 names the model version of each month. Quarantined rows are not in these sums.",
        empty="No provider emission row in this quarter.",
    )

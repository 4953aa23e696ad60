"""Section 4, emissions: by method, region and month, and from the runs to the provider's total."""

from reports.model import Column, TableSpec, columns
from reports.quarter import Quarter
from reports.sections.sql import GROUP_ORDER, RESIDUAL_GROUP, by_period, emission_parts, periods, presence, whole, within

LOCATION, MARKET = "provider_total_location_based_kgco2e", "provider_total_market_based_kgco2e"
FOUR = {
    "provider_scope_2_location_based_kgco2e": "Scope 2 location-based",
    "provider_scope_2_market_based_kgco2e": "Scope 2 market-based",
    LOCATION: "Total location-based",
    MARKET: "Total market-based",
}
WHOLES = ", ".join(whole(measure) for measure in FOUR)

GAP = "not published by the provider"


def _four(note: str) -> tuple[Column, ...]:
    return tuple(Column(key, label, "mass", note=note) for key, label in FOUR.items())


def by_month(quarter: Quarter) -> TableSpec:
    """Runs and the rest, both methods, per month; a month without a publication has its row and no figure."""
    known = "bool_and(presence.has_carbon)"

    def part(measure: str, only: str, name: str) -> str:
        return f"""    case when {known} and count(parts.is_run) = count(parts.{measure})
        then coalesce(sum(parts.{measure}){only}, 0) end as {name}"""

    sums = ",\n".join(
        part(measure, only, f"{name}_{way}_based_kgco2e")
        for way, measure in (("location", LOCATION), ("market", MARKET))
        for name, only in (("run", " filter (where parts.is_run)"), ("rest", " filter (where not parts.is_run)"), ("all", ""))
    )
    return TableSpec(
        id="emissions_by_month",
        title="Provider emissions by month: allocated to runs, carried by no run, total",
        sql=f"""with {presence(quarter)},
{emission_parts(quarter)}
select
    presence.usage_month,
    presence.provider_name,
    string_agg(distinct parts.provider_model_version, ', ' order by parts.provider_model_version) as provider_model_versions,
{sums}
from presence
left join parts using (provider_name, payer_account_id, usage_month)
where presence.is_this_quarter
group by presence.usage_month, presence.provider_name
order by presence.usage_month, presence.provider_name""",
        columns=(
            *columns(usage_month="Month", provider_name="Provider"),
            Column("provider_model_versions", "Model version", "code", note=GAP),
            *(
                Column(f"{part}_{way}_based_kgco2e", words, "mass", note=GAP, group=f"{way.title()}-based")
                for way in ("location", "market")
                for part, words in (("run", "Runs"), ("rest", "No run"), ("all", "Total"))
            ),
        ),
        key=("usage_month", "provider_name"),
        method="Provider Scope 1, 2 and 3 of the elected model version. A month is null while any payer's carbon is not "
        "published.",
        empty="No payer has a bill or a carbon publication.",
    )


def by_region(quarter: Quarter) -> TableSpec:
    """Each region and month: electricity (Scope 2) and total, by both methods."""
    return TableSpec(
        id="emissions_by_region",
        title="Provider emissions by region and month, all usage",
        sql=f"""with {emission_parts(quarter)}
select provider_name, region_id, usage_month,
    case when count(*) = count({LOCATION})
        then coalesce(sum({LOCATION}) filter (where is_run), 0) end as run_location_based_kgco2e,
    {WHOLES}
from parts
group by provider_name, region_id, usage_month
order by provider_name, region_id, usage_month""",
        columns=(
            *columns(provider_name="Provider", region_id="Region", usage_month="Month"),
            *_four(GAP),
            Column("run_location_based_kgco2e", "of which runs, location-based", "mass", note=GAP),
        ),
        key=("provider_name", "region_id", "usage_month"),
        method="Runs and residuals of each region as the provider names it; Global is usage the provider gives no region.",
        empty="No provider emission row in this quarter.",
        page_rows=60,
    )


def _waterfall_sql(quarter: Quarter) -> str:
    both = (LOCATION, MARKET)
    reconciled = f"""from marts.fct_reconciliation
    inner join (
        select distinct source_name, provider_name, payer_account_id, usage_month, provider_model_version from parts
    ) as book
        using (source_name, provider_name, payer_account_id, usage_month, provider_model_version)
    where method = 'conservation' and measure in ('{LOCATION}', '{MARKET}') and {within(quarter)}"""

    def side(measure: str, column: str) -> str:
        return f"case when measure = '{measure}' then {column} else 0 end"

    known = "not exists (select 1 from gaps where {condition})"
    return f"""with {presence(quarter)},
{emission_parts(quarter)},
steps as (
    select usage_month, 'Runs on ' || runs.accelerator_family as part, {", ".join(both)}
    from parts
    inner join marts.dim_training_runs as runs using (training_run_id)
    where is_run
    union all
    select usage_month, {RESIDUAL_GROUP}, {", ".join(both)}
    from parts
    where not is_run
    union all
    select usage_month, 'Quarantined', {side(LOCATION, "quarantined_total")}, {side(MARKET, "quarantined_total")}
    {reconciled} and quarantined_total <> 0
    union all
    select usage_month, 'Provider total', {side(LOCATION, "provider_total")}, {side(MARKET, "provider_total")}
    {reconciled}
),
gaps as (
    select usage_month from presence where is_this_quarter and not has_carbon
)
select part,
{by_period(quarter, LOCATION, "location_based_kgco2e", known)},
{by_period(quarter, MARKET, "market_based_kgco2e", known)},
    part = 'Provider total' as is_total
from steps
group by part
order by {GROUP_ORDER}, part"""


def waterfall(quarter: Quarter) -> TableSpec:
    """From the runs to the provider's total, for the quarter and each month, by both methods, each method on its own."""
    return TableSpec(
        id="emissions_waterfall",
        title="From training runs to the provider's total",
        sql=_waterfall_sql(quarter),
        columns=(
            Column("part", "Step"),
            *(
                Column(
                    f"{way}_based_kgco2e_{period}",
                    label,
                    "mass",
                    group=f"{way.title()}-based",
                    note="a carbon month is not published",
                )
                for way in ("location", "market")
                for period, label in periods(quarter)
            ),
        ),
        key=("part",),
        method="Allocated to runs, then the residual by reason, then what is quarantined; the provider total is the "
        "provider's own. Other services keep their share of every cell, so a run never carries them. Commitments: hours paid "
        "and not used. Unallocated: global, no usage, in no run record, unattributed.",
        empty="No provider emission row in this quarter.",
    )


def residual_reasons(quarter: Quarter) -> TableSpec:
    """What no run carries, by its one reason: cost and both totals."""
    return TableSpec(
        id="residual_reasons",
        title="What no run carries, by reason",
        sql=f"""select reason, count(*) as cell_count,
    {WHOLES}
from marts.fct_residual_emissions
where {within(quarter)}
group by reason
order by reason""",
        columns=(Column("reason", "Reason", "state"), Column("cell_count", "Rows", "count"), *_four(GAP)),
        key=("reason",),
        method="Months published so far. Every residual row has exactly one reason, the first that fits.",
        empty="No residual emission row in this quarter.",
    )


def by_team(quarter: Quarter) -> TableSpec:
    """Allocated masses by accelerator type and team."""
    return TableSpec(
        id="emissions_by_team",
        title="Emissions allocated to runs, by team and accelerator",
        sql=f"""select runs.team, runs.accelerator_type, runs.accelerator_family,
    count(*) as run_months,
    count(*) filter (where {LOCATION} is null) as run_months_without_figure,
    {WHOLES}
from marts.fct_training_run_emissions as emissions
inner join marts.dim_training_runs as runs using (training_run_id)
where {within(quarter, "emissions.usage_month")}
group by runs.team, runs.accelerator_type, runs.accelerator_family
order by runs.team, runs.accelerator_type, runs.accelerator_family""",
        columns=(
            *columns(team="Team", accelerator_type="Accelerator", accelerator_family="Platform", run_months="Run-months"),
            Column("run_months_without_figure", "without figure", "count"),
            *_four("a run-month of the group has no figure"),
        ),
        key=("team", "accelerator_type", "accelerator_family"),
        method="Strict, provider-allocated. A group's total is null while any of its run-months has no figure: half a total "
        "is not a total.",
        empty="No run has an emission row in this quarter.",
    )

"""Emissions by method, region and month, and from the runs to the provider's total."""

from reports.model import Column, TableSpec, columns
from reports.sections.sql import (
    EMISSION_PARTS,
    GROUP_ORDER,
    PARTS,
    PRESENCE,
    RESIDUAL_GROUP,
    WAYS,
    by_period,
    period_columns,
    run_rest_all,
    whole,
    within,
)

LOCATION, MARKET = "provider_total_location_based_kgco2e", "provider_total_market_based_kgco2e"
FOUR = {
    "provider_scope_2_location_based_kgco2e": "Scope 2 location-based",
    "provider_scope_2_market_based_kgco2e": "Scope 2 market-based",
    LOCATION: "Total location-based",
    MARKET: "Total market-based",
}
WHOLES = ", ".join(whole(measure) for measure in FOUR)
GAP = "not published by the provider"


def _by_way(measures: tuple[str, str], months: str, rows: str, is_run: str) -> str:
    """What runs carry, what no run carries, and both, by either method; null while a month or a part is not published."""
    return ",\n".join(
        f"""    case when bool_and({months}.has_carbon) and {rows} = count({measure})
        then coalesce(sum({measure}){only.replace("is_run", is_run)}, 0) end as {part}_{way}_based_kgco2e"""
        for way, measure in zip(WAYS, measures, strict=True)
        for part, only in PARTS
    )


def _ways(note: str) -> tuple[Column, ...]:
    return tuple(column for way in WAYS for column in run_rest_all(f"{way}_based_kgco2e", f"{way.title()}-based", note))


BY_MONTH = TableSpec(
    id="emissions_by_month",
    title="Provider emissions by month: allocated to runs, carried by no run, total",
    sql=f"""with {PRESENCE},
{EMISSION_PARTS}
select
    presence.usage_month,
    presence.provider_name,
    string_agg(distinct parts.provider_model_version, ', ' order by parts.provider_model_version) as provider_model_versions,
{_by_way((f"parts.{LOCATION}", f"parts.{MARKET}"), "presence", "count(parts.is_run)", "parts.is_run")}
from presence
left join parts using (provider_name, payer_account_id, usage_month)
group by presence.usage_month, presence.provider_name
order by presence.usage_month, presence.provider_name""",
    columns=(
        *columns(usage_month="Month", provider_name="Provider"),
        *columns(note=GAP, provider_model_versions="Model version"),
        *_ways(GAP),
    ),
    key=("usage_month", "provider_name"),
    method="Provider Scope 1, 2 and 3 of the elected model version. A month is null while any payer's carbon is not published.",
    empty="No payer has a bill or a carbon publication.",
)

BY_REGION = TableSpec(
    id="emissions_by_region",
    title="Provider emissions by region and month, all usage",
    sql=f"""with {EMISSION_PARTS}
select provider_name, region_id, usage_month,
    case when count(*) = count({LOCATION})
        then coalesce(sum({LOCATION}) filter (where is_run), 0) end as run_location_based_kgco2e,
    {WHOLES}
from parts
group by provider_name, region_id, usage_month
order by provider_name, region_id, usage_month""",
    columns=(
        *columns(provider_name="Provider"),
        *columns(note="usage that the provider gives no region", region_id="Region"),
        *columns(usage_month="Month"),
        *columns(note=GAP, **FOUR, run_location_based_kgco2e="of which runs, location-based"),
    ),
    method="Runs and residuals of each region as the provider names it; usage of no region is its own row.",
    empty="No provider emission row in this quarter.",
    page_rows=60,
)

RECONCILED = f"""from marts.fct_reconciliation
    inner join (
        select distinct source_name, provider_name, payer_account_id, usage_month, provider_model_version from parts
    ) as book
        using (source_name, provider_name, payer_account_id, usage_month, provider_model_version)
    where method = 'conservation' and measure in ('{LOCATION}', '{MARKET}') and {within()}"""
COMPLETE = "not exists (select 1 from gaps where {condition})"


def _sides(total: str) -> str:
    return ", ".join(f"case when measure = '{measure}' then {total} else 0 end" for measure in (LOCATION, MARKET))


WATERFALL = TableSpec(
    id="emissions_waterfall",
    title="From training runs to the provider's total",
    sql=f"""with {PRESENCE},
{EMISSION_PARTS},
steps as (
    select usage_month, 'Runs on ' || runs.accelerator_family as part, {LOCATION}, {MARKET}
    from parts
    inner join marts.dim_training_runs as runs using (training_run_id)
    where is_run
    union all
    select usage_month, {RESIDUAL_GROUP}, {LOCATION}, {MARKET}
    from parts
    where not is_run
    union all
    select usage_month, 'Quarantined', {_sides("quarantined_total")}
    {RECONCILED} and quarantined_total <> 0
    union all
    select usage_month, 'Provider total', {_sides("provider_total")}
    {RECONCILED}
),
gaps as (
    select usage_month from presence where not has_carbon
)
select part,
{by_period(LOCATION, "location_based_kgco2e", COMPLETE)},
{by_period(MARKET, "market_based_kgco2e", COMPLETE)},
    part = 'Provider total' as is_total
from steps
group by part
order by {GROUP_ORDER}, part""",
    columns=(
        *columns(part="Step"),
        *period_columns("location_based_kgco2e", "mass", "Location-based", "a carbon month is not published"),
        *period_columns("market_based_kgco2e", "mass", "Market-based", "a carbon month is not published"),
    ),
    method="Allocated to runs, then the residual by reason, then what is quarantined; the provider total is the "
    "provider's own. Other services keep their share of every cell, so a run never carries them. Commitments: hours paid "
    "and not used. Unallocated: global, no usage, in no run record, unattributed.",
    empty="No provider emission row in this quarter.",
)

RESIDUAL_REASONS = TableSpec(
    id="residual_reasons",
    title="What no run carries, by reason",
    sql=f"""select reason, count(*) as cell_count,
    {WHOLES}
from marts.fct_residual_emissions
where {within()}
group by reason
order by reason""",
    columns=(Column("reason", "Reason", "state"), Column("cell_count", "Rows", "count"), *columns(note=GAP, **FOUR)),
    method="Months published so far. Every residual row has exactly one reason, the first that fits.",
    empty="No residual emission row in this quarter.",
)

BY_TEAM = TableSpec(
    id="emissions_by_team",
    title="Emissions allocated to runs, by team and accelerator",
    sql=f"""select runs.team, runs.accelerator_type, runs.accelerator_family,
    count(*) as run_months,
    count(*) filter (where {LOCATION} is null) as run_months_without_figure,
    {WHOLES}
from marts.fct_training_run_emissions as emissions
inner join marts.dim_training_runs as runs using (training_run_id)
where {within("emissions.usage_month")}
group by runs.team, runs.accelerator_type, runs.accelerator_family
order by runs.team, runs.accelerator_type, runs.accelerator_family""",
    columns=(
        *columns(team="Team", accelerator_type="Accelerator", accelerator_family="Platform", run_months="Run-months"),
        *columns(run_months_without_figure="without figure"),
        *columns(note="a run-month of the group has no figure", **FOUR),
    ),
    method="Strict, provider-allocated. A group's total is null while any of its run-months has no figure: half a total "
    "is not a total.",
    empty="No run has an emission row in this quarter.",
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
NOT_SPLIT = "a carbon month is not published (the section on emissions has those that are), or the provider gives no such split"
TOTALS_TWICE = TableSpec(
    id="totals_twice",
    title="Two totals, side by side: provider emissions by scope and method",
    sql=f"""with {PRESENCE},
{EMISSION_PARTS},
complete as (
    select provider_name, bool_and(has_carbon) as has_carbon from presence group by provider_name
),
scopes as (
{BY_SCOPE}
)
select provider_name, scope,
{_by_way(("location_based", "market_based"), "complete", "count(*)", "is_run")},
    scope = 'Provider total' as is_total
from scopes
inner join complete using (provider_name)
group by provider_name, scope, position
having scope not like 'Provider Scope 3%' or count(location_based) + count(market_based) > 0
order by provider_name, position""",
    columns=(
        Column("provider_name", "Provider", is_quiet_when_repeated=True),
        Column("scope", "Provider's scope"),
        *_ways(NOT_SPLIT),
    ),
    method="Provider-reported masses of the elected model version. The location-based and the market-based column are two "
    "answers to one question and are never added. Scope 1 has no method and is in both; so does a Scope 3 that the "
    "provider does not split. The section on emissions has each month's model version. Quarantined rows are not in these sums.",
    empty="No provider emission row in this quarter.",
)

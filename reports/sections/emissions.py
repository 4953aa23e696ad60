"""Emissions by method, region and month, and from the runs to the provider's total."""

from reports.sections.sql import (
    EMISSION_PARTS,
    GROUP_ORDER,
    PARTS,
    PRESENCE,
    RESIDUAL_GROUP,
    WAYS,
    by_period,
    whole,
    within,
)
from reports.sections.tables import table

LOCATION, MARKET = "provider_total_location_based_kgco2e", "provider_total_market_based_kgco2e"
SCOPE_2 = ("provider_scope_2_location_based_kgco2e", "provider_scope_2_market_based_kgco2e")
WHOLES = ", ".join(whole(measure) for measure in (*SCOPE_2, LOCATION, MARKET))


def _by_way(measures: tuple[str, str], months: str, rows: str, is_run: str) -> str:
    """What runs carry, what no run carries, and both, by either method; null while a month or a part is not published."""
    return ",\n".join(
        f"""    case when bool_and({months}.has_carbon) and {rows} = count({measure})
        then coalesce(sum({measure}){only.replace("is_run", is_run)}, 0) end as {part}_{way}_based_kgco2e"""
        for way, measure in zip(WAYS, measures, strict=True)
        for part, only in PARTS
    )


BY_MONTH = table("emissions_by_month").answered_by(f"""with {PRESENCE},
{EMISSION_PARTS}
select
    presence.usage_month,
    presence.provider_name,
    string_agg(distinct parts.provider_model_version, ', ' order by parts.provider_model_version) as provider_model_versions,
{_by_way((f"parts.{LOCATION}", f"parts.{MARKET}"), "presence", "count(parts.is_run)", "parts.is_run")}
from presence
left join parts using (provider_name, payer_account_id, usage_month)
group by presence.usage_month, presence.provider_name
order by presence.usage_month, presence.provider_name""")

BY_REGION = table("emissions_by_region").answered_by(f"""with {EMISSION_PARTS}
select provider_name, region_id, usage_month,
    case when count(*) = count({LOCATION})
        then coalesce(sum({LOCATION}) filter (where is_run), 0) end as run_location_based_kgco2e,
    {WHOLES}
from parts
group by provider_name, region_id, usage_month
order by provider_name, region_id, usage_month""")

RECONCILED = f"""from marts.fct_reconciliation
    inner join (
        select distinct source_name, provider_name, payer_account_id, usage_month, provider_model_version from parts
    ) as book
        using (source_name, provider_name, payer_account_id, usage_month, provider_model_version)
    where method = 'conservation' and measure in ('{LOCATION}', '{MARKET}') and {within()}"""
COMPLETE = "not exists (select 1 from gaps where {condition})"


def _sides(total: str) -> str:
    return ", ".join(f"case when measure = '{measure}' then {total} else 0 end" for measure in (LOCATION, MARKET))


WATERFALL = table("emissions_waterfall").answered_by(f"""with {PRESENCE},
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
order by {GROUP_ORDER}, part""")

RESIDUAL_REASONS = table("residual_reasons").answered_by(f"""select reason, count(*) as cell_count,
    {WHOLES}
from marts.fct_residual_emissions
where {within()}
group by reason
order by reason""")

BY_TEAM = table("emissions_by_team").answered_by(f"""select runs.team, runs.accelerator_type, runs.accelerator_family,
    count(*) as run_months,
    count(*) filter (where {LOCATION} is null) as run_months_without_figure,
    {WHOLES}
from marts.fct_training_run_emissions as emissions
inner join marts.dim_training_runs as runs using (training_run_id)
where {within("emissions.usage_month")}
group by runs.team, runs.accelerator_type, runs.accelerator_family
order by runs.team, runs.accelerator_type, runs.accelerator_family""")

SCOPES = (
    ("Provider Scope 1", "provider_scope_1_kgco2e", "provider_scope_1_kgco2e"),
    ("Provider Scope 2", *SCOPE_2),
    ("Provider Scope 3", "provider_scope_3_location_based_kgco2e", "provider_scope_3_market_based_kgco2e"),
    ("Provider Scope 3, not split by method", "provider_scope_3_unsplit_kgco2e", "provider_scope_3_unsplit_kgco2e"),
    ("Provider total", LOCATION, MARKET),
)
BY_SCOPE = "\n    union all\n".join(
    f"    select {n} as position, '{label}' as scope, provider_name, is_run, {location} as location_based, {market} as "
    "market_based from parts"
    for n, (label, location, market) in enumerate(SCOPES)
)
TOTALS_TWICE = table("totals_twice").answered_by(f"""with {PRESENCE},
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
order by provider_name, position""")

"""Emissions by method, region and month, and from the runs to the provider's total."""

from reports.sections.sql import (
    EMISSION_PARTS,
    GROUP_ORDER,
    PARTS,
    PRESENCE,
    RESIDUAL_GROUP,
    WAYS,
    by_period,
    of_runs,
    reconciled,
    within,
)
from reports.sections.tables import summed

LOCATION, MARKET = "provider_total_location_based_kgco2e", "provider_total_market_based_kgco2e"
CTES = f"{PRESENCE},\n{EMISSION_PARTS}"


def _by_way(*measures: str) -> dict[str, str]:
    """What runs carry, what no run carries, and both, by either method; null while a month or a part is not published."""
    return {
        f"{part}_{way}_based_kgco2e": f"""case when bool_and(has_carbon) and count(is_run) = count({measure})
        then coalesce(sum({measure}){only}, 0) end"""
        for way, measure in zip(WAYS, measures, strict=True)
        for part, only in PARTS
    }


BY_MONTH = summed(
    "emissions_by_month",
    "presence\nleft join parts using (provider_name, payer_account_id, usage_month)",
    before=CTES,
    provider_model_versions="string_agg(distinct provider_model_version, ', ' order by provider_model_version)",
    **_by_way(LOCATION, MARKET),
)
BY_REGION = summed(
    "emissions_by_region",
    "parts",
    before=EMISSION_PARTS,
    run_location_based_kgco2e=f"""case when count(*) = count({LOCATION})
        then coalesce(sum({LOCATION}) filter (where is_run), 0) end""",
)

COMPLETE = "not exists (select 1 from gaps where {condition})"


BOOK = "source_name, provider_name, payer_account_id, usage_month, provider_model_version"
OF_BOOK = f"({BOOK}) in (select ({BOOK}) from parts)"


def _step(part: str, total: str, only: str = OF_BOOK) -> str:
    return reconciled("usage_month", part, total, (LOCATION, MARKET), only)


WATERFALL = summed(
    "emissions_waterfall",
    "steps",
    f"{GROUP_ORDER}, part",
    before=f"""{CTES},
steps as (
    select usage_month, case when is_run then 'Runs on ' || accelerator_family else {RESIDUAL_GROUP} end as part,
        {LOCATION}, {MARKET}
    from parts
    left join marts.dim_training_runs using (training_run_id)
    union all
    {_step("Quarantined", "quarantined_total", f"quarantined_total <> 0 and {OF_BOOK}")}
    union all
    {_step("Provider total", "provider_total")}
),
gaps as (
    select usage_month from presence where not has_carbon
)""",
    is_total="part = 'Provider total'",
    **by_period(LOCATION, "location_based_kgco2e", COMPLETE),
    **by_period(MARKET, "market_based_kgco2e", COMPLETE),
)

RESIDUAL_REASONS = summed("residual_reasons", f"marts.fct_residual_emissions\nwhere {within()}", cell_count="count(*)")
BY_TEAM = summed(
    "emissions_by_team",
    f"{of_runs('emissions')}\nwhere {within()}",
    run_months="count(*)",
    run_months_without_figure=f"count(*) - count({LOCATION})",
)

SCOPES = (
    ("Provider Scope 1", "provider_scope_1_kgco2e", "provider_scope_1_kgco2e"),
    ("Provider Scope 2", "provider_scope_2_location_based_kgco2e", "provider_scope_2_market_based_kgco2e"),
    ("Provider Scope 3", "provider_scope_3_location_based_kgco2e", "provider_scope_3_market_based_kgco2e"),
    ("Provider Scope 3, not split by method", "provider_scope_3_unsplit_kgco2e", "provider_scope_3_unsplit_kgco2e"),
    ("Provider total", LOCATION, MARKET),
)
BY_SCOPE = "\n    union all\n".join(
    f"    select {n} as position, '{label}' as scope, provider_name, is_run, {location} as location_based, {market} as "
    "market_based from parts"
    for n, (label, location, market) in enumerate(SCOPES)
)
TOTALS_TWICE = summed(
    "totals_twice",
    "scopes\ninner join complete using (provider_name)",
    "provider_name, min(position)",
    before=f"""{CTES},
complete as (
    select provider_name, bool_and(has_carbon) as has_carbon from presence group by provider_name
),
scopes as (
{BY_SCOPE}
)""",
    having="scope not like 'Provider Scope 3%' or count(location_based) + count(market_based) > 0",
    is_total="scope = 'Provider total'",
    **_by_way("location_based", "market_based"),
)

"""Modelled emissions beside what the provider allocated, and the factors they rest on.

The engineering view is never added to the book. The two meet only in the reconciliation: both location-based, both electricity
(provider Scope 2 and facility energy times the grid's factor), both of the runs that used accelerators in a provider cell.
"""

from reports.sections.sql import HOLDS_CHIPS, account_names, of_runs, ratio, whole, within
from reports.sections.tables import chosen, summed

PROVIDER = "sum(runs_total) filter (where modelled_total is not null)"
MODELLED = "sum(modelled_total) filter (where runs_total is not null)"
PAIRED = {
    "cell_count": "count(*)",
    "one_sided_cells": "count(*) filter (where runs_total is null or modelled_total is null)",
    "provider_kgco2e": PROVIDER,
    "modelled_kgco2e": MODELLED,
    "ratio": ratio(MODELLED, PROVIDER),
}
COMPARED = "marts.fct_reconciliation\nwhere method = 'modelled_vs_provider' and"

BESIDE_PROVIDER = summed("modelled_beside_provider", f"{COMPARED} {within()}", **PAIRED)
RATIO_HISTORY = summed("modelled_ratio_by_month", f"{COMPARED} usage_month >= $before and usage_month < $end", **PAIRED)
CELLS = chosen(
    "modelled_vs_provider",
    f"""marts.fct_reconciliation
{account_names("payer_account_id", "payer_account_name")}
{account_names("sub_account_id", "account_name")}
left join marts.dim_services using (provider_name, service_code)
where method = 'modelled_vs_provider' and {within()}""",
    "provider_name, usage_month, region_id, payer_account_id, sub_account_id, service_code, source_name, provider_model_version",
)

BY_REGION = summed(
    "modelled_by_region",
    f"""{of_runs("emissions_modelled")}
inner join marts.fct_training_run_energy as energy using (training_run_id, usage_month)
left join marts.dim_emission_factors as factors using (factor_id)
where {within()} and {HOLDS_CHIPS}""",
    provider_name="runs.provider_name",
    region_id="emissions_modelled.region_id",
    factor_set_id="emissions_modelled.factor_set_id",
    factor_value="factors.value",
    factor_age_years="max(factor_age_years)",
    run_count="count(distinct training_run_id)",
    facility_energy_kwh=whole("emissions_modelled.facility_energy_kwh"),
)

FACTORS = chosen(
    "factors",
    "used\ninner join marts.dim_emission_factors using (factor_id)",
    before=f"""used as (
    select factor_id, max(factor_age_years) as factor_age_years,
        string_agg(distinct region_id, ', ' order by region_id) as regions,
        sum(facility_energy_kwh) as facility_energy_kwh
    from marts.fct_training_run_emissions_modelled
    where factor_id is not null and {within()}
    group by factor_id
)""",
)

"""Modelled emissions beside what the provider allocated, and the factors they rest on.

The engineering view is never added to the book. The two meet only in the reconciliation: both location-based, both electricity
(provider Scope 2 and facility energy times the grid's factor), both of the runs that used accelerators in a provider cell.
"""

from reports.sections.sql import ENDS, HOLDS_CHIPS, account_names, ratio, whole, within
from reports.sections.tables import table

MODELLED_TO_PROVIDER = ratio(
    "sum(modelled_total) filter (where runs_total is not null)", "sum(runs_total) filter (where modelled_total is not null)"
)
PAIRED = f"""count(*) as cell_count,
    count(*) filter (where runs_total is null or modelled_total is null) as one_sided_cells,
    sum(runs_total) filter (where runs_total is not null and modelled_total is not null) as provider_kgco2e,
    sum(modelled_total) filter (where runs_total is not null and modelled_total is not null) as modelled_kgco2e,
    {MODELLED_TO_PROVIDER} as ratio"""

BESIDE_PROVIDER = table("modelled_beside_provider").answered_by(f"""select provider_name, region_id, provider_model_version,
    {PAIRED}
from marts.fct_reconciliation
where method = 'modelled_vs_provider' and {within()}
group by provider_name, region_id, provider_model_version
order by provider_name, region_id, provider_model_version""")

RATIO_HISTORY = table("modelled_ratio_by_month").answered_by(f"""select provider_name, usage_month, provider_model_version,
    {PAIRED}
from marts.fct_reconciliation
where method = 'modelled_vs_provider'
    and usage_month >= $before and usage_month < $end
group by provider_name, usage_month, provider_model_version
order by provider_name, usage_month, provider_model_version""")

CELLS = table("modelled_vs_provider").answered_by(f"""\
select cells.provider_name, cells.source_name, cells.payer_account_id, payers.account_name as payer_account_name,
    cells.sub_account_id, accounts.account_name, cells.service_code, services.service_name, cells.region_id, cells.usage_month,
    cells.provider_model_version, cells.provider_total, cells.runs_total, cells.modelled_total, cells.difference, cells.ratio,
    cells.reason
from marts.fct_reconciliation as cells
{account_names("cells", "payer_account_id", "payers")}
{account_names("cells", "sub_account_id", "accounts")}
left join marts.dim_services as services
    on cells.provider_name = services.provider_name and cells.service_code = services.service_code
where cells.method = 'modelled_vs_provider' and {within("cells.usage_month")}
order by cells.provider_name, cells.usage_month, cells.region_id, cells.payer_account_id, cells.sub_account_id,
    cells.service_code, cells.source_name, cells.provider_model_version""")

MASSES = ",\n    ".join(
    whole(f"modelled.modelled_location_based_kgco2e{end}", f"modelled_location_based_kgco2e{end}") for end in ENDS
)
BY_REGION = table("modelled_by_region").answered_by(f"""\
select runs.provider_name, modelled.region_id, modelled.factor_set_id, factors.grid_zone, modelled.factor_id,
    factors.value as factor_value,
    max(modelled.factor_age_years) as factor_age_years, count(distinct modelled.training_run_id) as run_count,
    {whole("modelled.facility_energy_kwh", "facility_energy_kwh")},
    {MASSES}
from marts.fct_training_run_emissions_modelled as modelled
inner join marts.dim_training_runs as runs using (training_run_id)
inner join marts.fct_training_run_energy as energy using (training_run_id, usage_month)
left join marts.dim_emission_factors as factors using (factor_id)
where {within("modelled.usage_month")} and {HOLDS_CHIPS}
group by runs.provider_name, modelled.region_id, modelled.factor_set_id, factors.grid_zone, modelled.factor_id, factors.value
order by runs.provider_name, modelled.region_id, modelled.factor_set_id, modelled.factor_id""")

FACTORS = table("factors").answered_by(f"""with used as (
    select factor_id, max(factor_age_years) as factor_age_years,
        string_agg(distinct region_id, ', ' order by region_id) as regions,
        sum(facility_energy_kwh) as facility_energy_kwh
    from marts.fct_training_run_emissions_modelled
    where factor_id is not null and {within()}
    group by factor_id
)
select factors.factor_id, factors.factor_set_id, factors.grid_zone, used.regions, factors.value, factors.unit, factors.method,
    factors.basis, factors.gases, factors.gwp_set, factors.data_year, used.factor_age_years, factors.valid_to,
    used.facility_energy_kwh, factors.source, factors.source_date, factors.licence, factors.confidence
from used
inner join marts.dim_emission_factors as factors using (factor_id)
order by factors.factor_id""")

"""Modelled emissions beside what the provider allocated, and the factors they rest on.

The engineering view is never added to the book. The two meet only in the reconciliation: both location-based, both electricity
(provider Scope 2 and facility energy times the grid's factor), both of the runs that used accelerators in a provider cell.
"""

from reports.model import Column, TableSpec, bounded, columns, data_only, named
from reports.sections.sql import ENDS, ON_RECORD, account_names, nine_digits, whole, within

NO_SIDE = "no cell with both sides known"
BOTH = "Runs on accelerators, location-based"
NO_FACTOR = "the set has no factor for this region"
NO_AGE = "no factor, or one of the organisation's own without a data year"
NO_ENERGY = "no energy or no factor for a run-month of the group"
PAIRED = f"""count(*) as cell_count,
    count(*) filter (where runs_total is null or modelled_total is null) as one_sided_cells,
    sum(runs_total) filter (where runs_total is not null and modelled_total is not null) as provider_kgco2e,
    sum(modelled_total) filter (where runs_total is not null and modelled_total is not null) as modelled_kgco2e,
    {
    nine_digits(
        "cast(sum(modelled_total) filter (where runs_total is not null) as double)"
        " / nullif(cast(sum(runs_total) filter (where modelled_total is not null) as double), 0)"
    )
} as ratio"""
SIDES = (
    *columns(cell_count="Cells", one_sided_cells="one side unknown"),
    *columns(note=NO_SIDE, group=BOTH, provider_kgco2e="Provider-allocated", modelled_kgco2e="Modelled"),
    *columns("ratio_of", note=NO_SIDE, ratio="Modelled ÷ provider"),
)
CELL = (
    *("provider_name", "source_name", "payer_account_id", "sub_account_id", "service_code", "region_id", "usage_month"),
    "provider_model_version",
)
METHOD = (
    "From the rows of the reconciliation whose method is modelled against provider: sums over the cells where both sides are "
    "known, and the ratio of these sums. Same runs, same months, same boundary in kind (electricity of the facility), "
    "different ways: the provider's own metering and list-price weights against our energy model and the grid's factor."
)

BESIDE_PROVIDER = TableSpec(
    id="modelled_beside_provider",
    title="Provider-allocated beside modelled, by region",
    sql=f"""select provider_name, region_id, provider_model_version,
    {PAIRED}
from marts.fct_reconciliation
where method = 'modelled_vs_provider' and {within()}
group by provider_name, region_id, provider_model_version
order by provider_name, region_id, provider_model_version""",
    columns=(*columns(provider_name="Provider", region_id="Region", provider_model_version="Model version"), *SIDES),
    method=METHOD,
    empty="No provider cell of this quarter holds a run on accelerators.",
)

RATIO_HISTORY = TableSpec(
    id="modelled_ratio_by_month",
    title="Modelled ÷ provider-allocated: its history",
    sql=f"""select provider_name, usage_month, provider_model_version,
    {PAIRED}
from marts.fct_reconciliation
where method = 'modelled_vs_provider'
    and usage_month >= $before and usage_month < $end
group by provider_name, usage_month, provider_model_version
order by provider_name, usage_month, provider_model_version""",
    columns=(
        Column("provider_name", "Provider", is_quiet_when_repeated=True),
        *columns(usage_month="Month", provider_model_version="Model version"),
        *SIDES,
    ),
    method="This quarter and the one before. A new model version of the provider is a break: ratios of two versions are "
    "not one series.",
    empty="No provider cell of this quarter or the one before holds a run on accelerators.",
)

CELLS = TableSpec(
    id="modelled_vs_provider",
    title="Reconciliation, cell by cell: modelled against provider Scope 2, location-based",
    sql=f"""select cells.provider_name, cells.source_name, cells.payer_account_id, payers.account_name as payer_account_name,
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
    cells.service_code, cells.source_name, cells.provider_model_version""",
    columns=(
        Column("provider_name", "Provider", is_quiet_when_repeated=True),
        *columns(usage_month="Month", region_id="Region"),
        *data_only(*columns(source_name="Source"), *named("payer_account_id", "Payer", "payer_account_name", "Payer's name")),
        *named("sub_account_id", "Account or project", "account_name", "Name of the account or project", "of no project"),
        *named("service_code", "Service", "service_name", "Name of the service"),
        *columns(provider_model_version="Version"),
        *columns("mass", note="not published by the provider", provider_total="Provider's cell", runs_total="of which runs"),
        *columns("mass", note="not modelled for every run of the cell", modelled_total="Runs, modelled"),
        *columns("mass", note="one side is not known", difference="Difference"),
        *columns("ratio_of", note="one side is not known, or the provider's is 0", ratio="Ratio"),
        Column("reason", "Why not", note="both sides are known", is_dropped_when_empty=True),
    ),
    key=CELL,
    method="Provider's cell: Scope 2 location-based of everything in it. Of which runs: its part allocated to the runs "
    "that used accelerators there. Difference: provider less model. Ratio: model ÷ provider.",
    empty="No provider cell of this quarter holds a run on accelerators.",
    page_rows=24,
)

MASSES = ",\n    ".join(
    whole(f"modelled.modelled_location_based_kgco2e{end}", f"modelled_location_based_kgco2e{end}") for end in ENDS
)
BY_REGION = TableSpec(
    id="modelled_by_region",
    title="Modelled emissions of training runs by region: facility energy times the grid's factor",
    sql=f"""select runs.provider_name, modelled.region_id, modelled.factor_set_id, factors.grid_zone, modelled.factor_id,
    factors.value as factor_value,
    max(modelled.factor_age_years) as factor_age_years, count(distinct modelled.training_run_id) as run_count,
    {whole("modelled.facility_energy_kwh", "facility_energy_kwh")},
    {MASSES}
from marts.fct_training_run_emissions_modelled as modelled
inner join marts.dim_training_runs as runs using (training_run_id)
left join marts.dim_emission_factors as factors using (factor_id)
where {within("modelled.usage_month")} and {ON_RECORD}
group by runs.provider_name, modelled.region_id, modelled.factor_set_id, factors.grid_zone, modelled.factor_id, factors.value
order by runs.provider_name, modelled.region_id, modelled.factor_set_id, modelled.factor_id""",
    columns=(
        *columns(provider_name="Provider"),
        *columns(note="no region on record", region_id="Region"),
        *columns(factor_set_id="Set"),
        *columns(note=NO_FACTOR, grid_zone="Grid zone", factor_id="Factor"),
        Column("factor_value", "Factor", "number", note=NO_FACTOR, unit="kgCO2e/kWh"),
        Column("factor_age_years", "Age", "count", note=NO_AGE, unit="years"),
        *columns(run_count="Runs"),
        *columns(note=NO_ENERGY, facility_energy_kwh="Facility energy"),
        *bounded("modelled_location_based_kgco2e", "Modelled, location-based", "mass", NO_ENERGY),
    ),
    key=("provider_name", "region_id", "factor_set_id", "factor_id"),
    method="Set location_direct_v1: direct emissions of generation, no upstream; it has every run. Set user: factors that the "
    "organisation put in, beside the default for the same runs; the two are never added. The engineering view, never the book "
    "and never added to it. Runs known by a tag only have no energy and are not here. Bounds: those of the energy; the "
    "factor's own error is not in them.",
    empty="No run has a modelled row in this quarter.",
)

FACTORS = TableSpec(
    id="factors",
    title="Emission factors of the modelled view",
    sql=f"""with used as (
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
order by factors.factor_id""",
    columns=(
        *columns(factor_id="Factor"),
        *columns(factor_set_id="Set", grid_zone="Grid zone", regions="Regions"),
        Column("value", "Value", "number", unit="kgCO2e/kWh"),
        *data_only(*columns(unit="Unit")),
        *data_only(*columns("state", method="Method", basis="Basis")),
        Column("gases", "Gases"),
        *data_only(*columns(gwp_set="GWP")),
        Column("data_year", "Data year", "year", note=NO_AGE),
        Column("factor_age_years", "Age", "count", note=NO_AGE, unit="years"),
        Column("valid_to", "Expires", "date", note="no end stated"),
        *columns(note="no energy figure", facility_energy_kwh="Energy on it"),
        *columns(source="Source", source_date="Dated", licence="Licence", confidence="Confidence"),
    ),
    key=("factor_id",),
    method="The factors used in this quarter. Set location_direct_v1: latest data year not after the year of use and "
    "known by its end, at most four years old. Age: year of use less data year. Set user: the organisation's own. "
    "Provider-reported figures use no factor of ours.",
    empty="No figure of this quarter rests on an emission factor of ours.",
)

"""Energy of the runs and the sources it rests on: four boundaries with bounds, basis, coverage, chip-hours, PUE.

Every figure is modelled from telemetry or time unless its basis is measured. low and high are plausible bounds: fully
correlated, so they add; they are no confidence interval.
"""

from reports.model import TableSpec
from reports.sections import calibration
from reports.sections.sql import ENDS, HOLDS_CHIPS, lines, ratio, whole, within
from reports.sections.tables import by, table

BOUNDARIES = ("chip_energy_kwh", "chip_host_energy_kwh", "it_energy_kwh", "facility_energy_kwh")
BASES = ("measured", "driver_power", "utilisation_model", "time_model")  # from the strongest to the weakest


def _wholes(*columns: str) -> str:
    """Over run-months that held chips: of a tag on a disk alone no energy can be modelled."""
    return lines(whole(f"energy.{column}", column, f"count(*) filter (where {HOLDS_CHIPS})") for column in columns)


def _bounded(*columns: str) -> str:
    return _wholes(*(f"{column}{end}" for column in columns for end in ENDS))


COUNTS = f"""count(distinct energy.training_run_id) as run_count,
    count(*) filter (where {HOLDS_CHIPS}) - count(energy.facility_energy_kwh) as unknown_run_months,
    count(*) filter (where not {HOLDS_CHIPS}) as unrecorded_run_months"""
JOINED = """from marts.fct_training_run_energy as energy
inner join marts.dim_training_runs as runs using (training_run_id)"""

BY_ACCELERATOR = table("energy_by_accelerator").answered_by(f"""select runs.accelerator_type, runs.accelerator_family, {COUNTS},
    {_bounded(*BOUNDARIES)},
    {_wholes("idle_share_facility_energy_kwh")},
    grouping(runs.accelerator_type, runs.accelerator_family) > 0 as is_total
{JOINED}
where {within("energy.usage_month")}
group by grouping sets ((runs.accelerator_type, runs.accelerator_family), ())
having count(*) > 0
order by is_total, runs.accelerator_family, runs.accelerator_type""")


def _weakest(column: str, *names: str) -> str:
    """The last of the names, from the strongest to the weakest, that a row of the group has."""
    ranks = " ".join(f"when '{name}' then {n}" for n, name in enumerate(names))
    words = " ".join(f"when {n} then '{name}'" for n, name in enumerate(names))
    return f"case max(case energy.{column} {ranks} end)\n        {words} end as {column}"


BY_BASIS = table("energy_by_basis").answered_by(f"""with {calibration.CALIBRATED},
windows as (
    select accelerator_type, {calibration.WORDS} as {calibration.FROM}
    from calibrated
    where {within()}
    group by accelerator_type
),
energy as (
    select *,
        cast(reserved_chip_hours as decimal(20, 9)) * cast(telemetry_coverage_ratio as decimal(10, 9)) as observed_chip_hours
    from marts.fct_training_run_energy
    where {within()}
)
select runs.accelerator_type, runs.accelerator_family, {COUNTS},
    sum(energy.reserved_chip_hours) as reserved_chip_hours,
    cast(sum(energy.observed_chip_hours) as decimal(38, 9)) as observed_chip_hours,
    sum(energy.busy_chip_hours) as busy_chip_hours,
    {ratio("sum(energy.observed_chip_hours)", "sum(energy.reserved_chip_hours)")}
        as coverage_ratio,
    {ratio("sum(energy.busy_chip_hours)", "sum(energy.observed_chip_hours)")}
        as busy_ratio,
    {_wholes(*(f"energy_kwh_{basis}" for basis in BASES))},
    {_weakest("energy_basis", *BASES)},
    {_weakest("power_confidence", "measured", "calibrated", "published", "third_party", "user", "assumed")},
    max(windows.{calibration.FROM}) as {calibration.FROM}
from energy
inner join marts.dim_training_runs as runs using (training_run_id)
left join windows on runs.accelerator_type = windows.accelerator_type
group by runs.accelerator_type, runs.accelerator_family
order by runs.accelerator_family, runs.accelerator_type""")


def grouped_energy(name: str, group: str, label: str) -> TableSpec:
    """Facility energy of runs by one attribute and platform."""
    return by(
        table("energy_by").answered_by(f"""with prior as (
    select runs.{group}, runs.accelerator_family, {_wholes("facility_energy_kwh")}
    {JOINED}
    where energy.usage_month >= $before and energy.usage_month < $start
    group by runs.{group}, runs.accelerator_family
)
select runs.{group}, runs.accelerator_family, {COUNTS},
    {_bounded("facility_energy_kwh")},
    max(prior.facility_energy_kwh) as prior_facility_energy_kwh,
    {_wholes("idle_share_facility_energy_kwh")}
{JOINED}
left join prior
    on runs.{group} is not distinct from prior.{group} and runs.accelerator_family = prior.accelerator_family
where {within("energy.usage_month")}
group by runs.{group}, runs.accelerator_family
order by facility_energy_kwh desc nulls last, runs.{group}, runs.accelerator_family"""),
        name,
        group,
        label,
    )


BY_MONTH = table("energy_by_month").answered_by(f"""select energy.usage_month, runs.accelerator_family, {COUNTS},
    {_bounded("facility_energy_kwh")},
    grouping(runs.accelerator_family) > 0 as is_total
{JOINED}
where {within("energy.usage_month")}
group by grouping sets ((energy.usage_month, runs.accelerator_family), (energy.usage_month))
order by energy.usage_month, is_total, runs.accelerator_family""")

BY_OUTCOME = table("energy_by_outcome").answered_by(f"""with parts as (
    select
        case runs.state when 'succeeded' then 1 when 'running' then 2 when 'stopped' then 3 when 'failed' then 4
            when 'interrupted' then 5 else 6 end as position,
        runs.state as outcome, energy.training_run_id,
        energy.facility_energy_kwh, energy.facility_energy_kwh_low, energy.facility_energy_kwh_high
    {JOINED}
    where {within("energy.usage_month")} and {HOLDS_CHIPS}
    union all
    select 7, 'idle reserve', null, energy.idle_share_facility_energy_kwh, null, null
    {JOINED}
    where {within("energy.usage_month")} and {HOLDS_CHIPS}
)
select outcome, nullif(count(distinct training_run_id), 0) as run_count,
    {", ".join(whole(f"facility_energy_kwh{end}") for end in ENDS)}
from parts
group by outcome, position
order by position""")

PUE = table("pue").answered_by(f"""select runs.provider_name, runs.region_id, energy.pue_ratio, energy.pue_source,
    count(*) as run_months,
    {_wholes("facility_energy_kwh")}
{JOINED}
where {within("energy.usage_month")} and {HOLDS_CHIPS}
group by runs.provider_name, runs.region_id, energy.pue_ratio, energy.pue_source
order by runs.provider_name, runs.region_id, energy.pue_ratio, energy.pue_source""")

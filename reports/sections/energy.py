"""Energy of the runs and the sources it rests on: four boundaries with bounds, basis, coverage, chip-hours, PUE.

Every figure is modelled from telemetry or time unless its basis is measured. low and high are plausible bounds: fully
correlated, so they add; they are no confidence interval.
"""

from reports.model import Column, TableSpec, bounded, columns
from reports.sections import calibration
from reports.sections.sql import ENDS, ON_RECORD, lines, nine_digits, whole, within

BOUNDARIES = {
    "chip_energy_kwh": "Chips",
    "chip_host_energy_kwh": "Chips and host",
    "it_energy_kwh": "IT",
    "facility_energy_kwh": "Facility",
}
BASES = {
    "energy_kwh_measured": "Measured",
    "energy_kwh_driver_power": "Driver power",
    "energy_kwh_utilisation_model": "Utilisation",
    "energy_kwh_time_model": "Time",
}
HALF = "a run-month of the group has no figure: half a total is not a total"
NO_PRIOR = "nothing, or nothing whole, in $last_quarter"
IDLE = "the idle share of a run-month is not known"
BOUNDS = (
    "Plausible bounds in brackets; they err together, so they add. Run-months known by a tag only hold no chips on record: "
    "they are counted and in no sum."
)
NONE = "No run has an energy row in this quarter."


def _wholes(*columns: str) -> str:
    """Over runs with a record: a run known by a tag only holds no chips, so nothing can ever be modelled for it."""
    return lines(whole(f"energy.{column}", column, f"count(*) filter (where {ON_RECORD})") for column in columns)


def _bounded(*columns: str) -> str:
    return _wholes(*(f"{column}{end}" for column in columns for end in ENDS))


COUNTED = (
    *columns(run_count="Runs"),
    Column("unknown_run_months", "months unknown", "count", is_dropped_when_zero=True),
    Column("unrecorded_run_months", "by tag only", "count", is_dropped_when_zero=True),
)
COUNTS = f"""count(distinct energy.training_run_id) as run_count,
    count(*) filter (where {ON_RECORD}) - count(energy.facility_energy_kwh) as unknown_run_months,
    count(*) filter (where not {ON_RECORD}) as unrecorded_run_months"""
JOINED = """from marts.fct_training_run_energy as energy
inner join marts.dim_training_runs as runs using (training_run_id)"""

BY_ACCELERATOR = TableSpec(
    id="energy_by_accelerator",
    title="Energy of training runs by accelerator, at four boundaries",
    sql=f"""select runs.accelerator_type, runs.accelerator_family, {COUNTS},
    {_bounded(*BOUNDARIES)},
    {_wholes("idle_share_facility_energy_kwh")},
    grouping(runs.accelerator_type, runs.accelerator_family) > 0 as is_total
{JOINED}
where {within("energy.usage_month")}
group by grouping sets ((runs.accelerator_type, runs.accelerator_family), ())
having count(*) > 0
order by is_total, runs.accelerator_family, runs.accelerator_type""",
    columns=(
        *columns(accelerator_type="Accelerator", accelerator_family="Platform"),
        *COUNTED,
        *(
            column
            for key, label in BOUNDARIES.items()
            for column in bounded(key, label, "energy", HALF, "Modelled energy of the runs")
        ),
        *columns(note=IDLE, idle_share_facility_energy_kwh="Idle share, facility"),
    ),
    method="Each boundary contains the one before: chips; chips and host, a node by chips held; IT, with a share for "
    f"network and storage; facility, IT times PUE. {BOUNDS} Idle reserve is in none of them; the idle share is what the "
    "fully loaded view adds.",
    empty=NONE,
)


def _weakest(column: str, *names: str) -> str:
    """The last of the names, from the strongest to the weakest, that a row of the group has."""
    ranks = " ".join(f"when '{name}' then {n}" for n, name in enumerate(names))
    words = " ".join(f"when {n} then '{name}'" for n, name in enumerate(names))
    return f"case max(case energy.{column} {ranks} end)\n        {words} end as {column}"


BY_BASIS = TableSpec(
    id="energy_by_basis",
    title="On what the energy rests: basis, chip power, chip-hours, coverage",
    sql=f"""with {calibration.CALIBRATED},
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
    {nine_digits("cast(sum(energy.observed_chip_hours) as double) / nullif(cast(sum(energy.reserved_chip_hours) as double), 0)")}
        as coverage_ratio,
    {nine_digits("cast(sum(energy.busy_chip_hours) as double) / nullif(cast(sum(energy.observed_chip_hours) as double), 0)")}
        as busy_ratio,
    {_wholes(*BASES)},
    {_weakest("energy_basis", "measured", "driver_power", "utilisation_model", "time_model")},
    {_weakest("power_confidence", "measured", "calibrated", "published", "third_party", "user", "assumed")},
    max(windows.{calibration.FROM}) as {calibration.FROM}
from energy
inner join marts.dim_training_runs as runs using (training_run_id)
left join windows on runs.accelerator_type = windows.accelerator_type
group by runs.accelerator_type, runs.accelerator_family
order by runs.accelerator_family, runs.accelerator_type""",
    columns=(
        *columns(accelerator_type="Accelerator", accelerator_family="Platform"),
        *COUNTED,
        *columns(group="Chip-hours", reserved_chip_hours="Reserved", observed_chip_hours="Observed"),
        *columns(note="no telemetry", group="Chip-hours", busy_chip_hours="Busy"),
        *columns(note="no chip was held", group="Chip-hours", coverage_ratio="Coverage"),
        *columns(note="no telemetry", group="Chip-hours", busy_ratio="Busy of observed"),
        *columns("energy", note=HALF, group="Facility energy by basis", **BASES),
        *columns("state", energy_basis="Weakest basis", power_confidence="Chip power"),
        calibration.COLUMN,
    ),
    method="Reserved: chips held times hours. Observed: the part with telemetry; coverage is its share. Busy: utilisation "
    "times chips times hours, over observed time. The four bases add up to the facility energy; basis and chip power are the "
    "weakest of the group. Calibrated: from watts that were measured on chips of the same type and software.",
    empty=NONE,
)


def grouped_energy(name: str, group: str, label: str) -> TableSpec:
    """Facility energy of runs by one attribute and platform."""
    return TableSpec(
        id=f"energy_by_{name}",
        title=f"Facility energy by {name}",
        sql=f"""with prior as (
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
order by facility_energy_kwh desc nulls last, runs.{group}, runs.accelerator_family""",
        columns=(
            Column(group, label),
            *columns(accelerator_family="Platform"),
            *COUNTED,
            *bounded("facility_energy_kwh", "Facility energy", "energy", HALF),
            Column("prior_facility_energy_kwh", "$last_quarter", "energy", note=NO_PRIOR, is_dropped_when_empty=True),
            *columns(note=IDLE, idle_share_facility_energy_kwh="Idle share"),
        ),
        method=f"Facility boundary, modelled, strict. {BOUNDS} No change by group: the headline figure has it, or why not.",
        empty=NONE,
        is_ranked=True,
    )


BY_MONTH = TableSpec(
    id="energy_by_month",
    title="Facility energy of training runs by month and platform",
    sql=f"""select energy.usage_month, runs.accelerator_family, {COUNTS},
    {_bounded("facility_energy_kwh")},
    grouping(runs.accelerator_family) > 0 as is_total
{JOINED}
where {within("energy.usage_month")}
group by grouping sets ((energy.usage_month, runs.accelerator_family), (energy.usage_month))
order by energy.usage_month, is_total, runs.accelerator_family""",
    columns=(
        *columns(usage_month="Month", accelerator_family="Platform"),
        *COUNTED,
        *bounded("facility_energy_kwh", "Facility energy", "energy", HALF),
    ),
    method=f"Facility boundary, modelled, strict. {BOUNDS}",
    empty=NONE,
)

BY_OUTCOME = TableSpec(
    id="energy_by_outcome",
    title="How the work ended, in energy, and idle reserve",
    sql=f"""with parts as (
    select
        case runs.state when 'succeeded' then 1 when 'running' then 2 when 'stopped' then 3 when 'failed' then 4
            when 'interrupted' then 5 else 6 end as position,
        runs.state as outcome, energy.training_run_id,
        energy.facility_energy_kwh, energy.facility_energy_kwh_low, energy.facility_energy_kwh_high
    {JOINED}
    where {within("energy.usage_month")} and {ON_RECORD}
    union all
    select 7, 'idle reserve', null, energy.idle_share_facility_energy_kwh, null, null
    {JOINED}
    where {within("energy.usage_month")} and {ON_RECORD}
)
select outcome, nullif(count(distinct training_run_id), 0) as run_count,
    {", ".join(whole(f"facility_energy_kwh{end}") for end in ENDS)}
from parts
group by outcome, position
order by position""",
    columns=(
        *columns(outcome="Outcome"),
        *columns(note="not a run", run_count="Runs"),
        *bounded("facility_energy_kwh", "Facility energy", "energy", HALF),
    ),
    method="State is the run's last attempt's; earlier failed attempts are inside their run. Idle reserve: chips of "
    f"machines that runs shared and nobody held. {BOUNDS}",
    empty=NONE,
)

PUE = TableSpec(
    id="pue",
    title="PUE used, with its source",
    sql=f"""select runs.provider_name, runs.region_id, energy.pue_ratio, energy.pue_source,
    count(*) as run_months,
    {_wholes("facility_energy_kwh")}
{JOINED}
where {within("energy.usage_month")} and {ON_RECORD}
group by runs.provider_name, runs.region_id, energy.pue_ratio, energy.pue_source
order by runs.provider_name, runs.region_id, energy.pue_ratio, energy.pue_source""",
    columns=(
        *columns(provider_name="Provider"),
        *columns(note="no region on record", region_id="Region"),
        *columns("statistic", note="no energy figure, or measured at the facility", pue_ratio="PUE"),
        *columns(note="no energy figure", pue_source="Source, year, region or fleet; what was measured"),
        *columns(run_months="Run-months"),
        *columns(note="no energy figure", facility_energy_kwh="Facility energy on it"),
    ),
    key=("provider_name", "region_id", "pue_ratio", "pue_source"),
    method="The latest year not after the month's, at most four years old, of the region itself, else of the provider's "
    "fleet; the organisation's own figure stands before both. A run in several regions: facility over IT energy. Of energy "
    "that the organisation measured: where, and who says so.",
    empty=NONE,
)

"""Energy of the runs, section 3 and the sources of section 8: four boundaries with bounds, basis, coverage, chip-hours, PUE.

Every figure is modelled from telemetry or time unless its basis is measured. low and high are plausible bounds: fully
correlated, so they add; they are no confidence interval.
"""

from reports.model import Column, TableSpec, bounded, columns
from reports.quarter import Quarter
from reports.sections.sql import ON_RECORD, nine_digits, whole, whole_on_record, within

BOUNDARIES = (
    ("chip_energy_kwh", "Chips"),
    ("chip_host_energy_kwh", "Chips and host"),
    ("it_energy_kwh", "IT"),
    ("facility_energy_kwh", "Facility"),
)
BASES = ("measured", "driver_power", "utilisation_model", "time_model")
HALF = "a run-month of the group has no figure: half a total is not a total"
IDLE = "the idle share of a run-month is not known"
BOUNDS = (
    "Plausible bounds in brackets; they err together, so they add. Run-months known by a tag only hold no chips on record: "
    "they are counted and in no sum."
)
NONE = "No run has an energy row in this quarter."
WEAKEST = {
    "energy_basis": ("measured", "driver_power", "utilisation_model", "time_model"),
    "power_confidence": ("published", "third_party", "assumed"),
}


def _wholes(*columns: str) -> str:
    return ",\n    ".join(
        whole_on_record(f"energy.{column}{end}", f"{column}{end}") for column in columns for end in ("", "_low", "_high")
    )


COUNTED = (
    Column("run_count", "Runs", "count"),
    Column("unknown_run_months", "months unknown", "count", is_dropped_when_zero=True),
    Column("unrecorded_run_months", "by tag only", "count", is_dropped_when_zero=True),
)
COUNTS = f"""count(distinct energy.training_run_id) as run_count,
    count(*) filter (where {ON_RECORD}) - count(energy.facility_energy_kwh) as unknown_run_months,
    count(*) filter (where not {ON_RECORD}) as unrecorded_run_months"""
JOINED = """from marts.fct_training_run_energy as energy
inner join marts.dim_training_runs as runs using (training_run_id)"""


def by_accelerator(quarter: Quarter) -> TableSpec:
    """Four boundaries, each around the one before, per accelerator type, with the total of the quarter."""
    return TableSpec(
        id="energy_by_accelerator",
        title="Energy of training runs by accelerator, at four boundaries",
        sql=f"""select runs.accelerator_type, runs.accelerator_family, {COUNTS},
    {_wholes(*(key for key, _ in BOUNDARIES))},
    {whole_on_record("energy.idle_share_facility_energy_kwh", "idle_share_facility_energy_kwh")},
    grouping(runs.accelerator_type, runs.accelerator_family) > 0 as is_total
{JOINED}
where {within(quarter, "energy.usage_month")}
group by grouping sets ((runs.accelerator_type, runs.accelerator_family), ())
having count(*) > 0
order by is_total, runs.accelerator_family, runs.accelerator_type""",
        columns=(
            *columns(accelerator_type="Accelerator", accelerator_family="Platform"),
            *COUNTED,
            *(
                column
                for key, label in BOUNDARIES
                for column in bounded(key, label, "energy", HALF, "Modelled energy of the runs")
            ),
            Column("idle_share_facility_energy_kwh", "Idle share, facility", "energy", note=IDLE),
        ),
        key=("accelerator_type", "accelerator_family"),
        method="Each boundary contains the one before: chips; chips and host, a node by chips held; IT, with a share for "
        f"network and storage; facility, IT times PUE. {BOUNDS} Idle reserve is in none of them; the idle share is what the "
        "fully loaded view adds.",
        empty=NONE,
    )


def by_basis(quarter: Quarter) -> TableSpec:
    """On what the facility energy rests, how much was observed, and how busy the observed chips were."""
    weakest = ",\n    ".join(
        f"""case max(case energy.{column} {" ".join(f"when '{name}' then {n}" for n, name in enumerate(names))} end)
        {" ".join(f"when {n} then '{name}'" for n, name in enumerate(names))} end as {column}"""
        for column, names in WEAKEST.items()
    )
    parts = ",\n    ".join(whole_on_record(f"energy.energy_kwh_{basis}", f"energy_kwh_{basis}") for basis in BASES)
    return TableSpec(
        id="energy_by_basis",
        title="On what the energy rests: basis, chip power, chip-hours, coverage",
        sql=f"""with energy as (
    select *,
        cast(reserved_chip_hours as decimal(20, 9)) * cast(telemetry_coverage_ratio as decimal(10, 9)) as observed_chip_hours
    from marts.fct_training_run_energy
    where {within(quarter)}
)
select runs.accelerator_type, runs.accelerator_family, {COUNTS},
    sum(energy.reserved_chip_hours) as reserved_chip_hours,
    cast(sum(energy.observed_chip_hours) as decimal(38, 9)) as observed_chip_hours,
    sum(energy.busy_chip_hours) as busy_chip_hours,
    {nine_digits("cast(sum(energy.observed_chip_hours) as double) / nullif(cast(sum(energy.reserved_chip_hours) as double), 0)")}
        as coverage_ratio,
    {nine_digits("cast(sum(energy.busy_chip_hours) as double) / nullif(cast(sum(energy.observed_chip_hours) as double), 0)")}
        as busy_ratio,
    {parts},
    {weakest}
from energy
inner join marts.dim_training_runs as runs using (training_run_id)
group by runs.accelerator_type, runs.accelerator_family
order by runs.accelerator_family, runs.accelerator_type""",
        columns=(
            *columns(accelerator_type="Accelerator", accelerator_family="Platform"),
            *COUNTED,
            *columns(group="Chip-hours", reserved_chip_hours="Reserved", observed_chip_hours="Observed"),
            Column("busy_chip_hours", "Busy", "hours", note="no telemetry", group="Chip-hours"),
            Column("coverage_ratio", "Coverage", "ratio", note="no chip was held", group="Chip-hours"),
            Column("busy_ratio", "Busy of observed", "ratio", note="no telemetry", group="Chip-hours"),
            *(
                Column(f"energy_kwh_{basis}", words, "energy", note=HALF, group="Facility energy by basis")
                for basis, words in zip(BASES, ("Measured", "Driver power", "Utilisation", "Time"), strict=True)
            ),
            Column("energy_basis", "Weakest basis", "state"),
            Column("power_confidence", "Chip power", "state"),
        ),
        key=("accelerator_type", "accelerator_family"),
        method="Reserved: chips held times hours. Observed: the part with telemetry; coverage is its share. Busy: utilisation "
        "times chips times hours, over observed time. The four bases add up to the facility energy; basis and chip power are the "
        "weakest of the group.",
        empty=NONE,
    )


def grouped_energy(quarter: Quarter, id: str, title: str, group: str, label: str) -> TableSpec:
    """Facility energy of runs by one attribute and platform."""
    return TableSpec(
        id=id,
        title=title,
        sql=f"""select runs.{group}, runs.accelerator_family, {COUNTS},
    {_wholes("facility_energy_kwh")},
    {whole_on_record("energy.idle_share_facility_energy_kwh", "idle_share_facility_energy_kwh")}
{JOINED}
where {within(quarter, "energy.usage_month")}
group by runs.{group}, runs.accelerator_family
order by facility_energy_kwh desc nulls last, runs.{group}, runs.accelerator_family""",
        columns=(
            Column(group, label),
            Column("accelerator_family", "Platform"),
            *COUNTED,
            *bounded("facility_energy_kwh", "Facility energy", "energy", HALF),
            Column("idle_share_facility_energy_kwh", "Idle share", "energy", note=IDLE),
        ),
        key=(group, "accelerator_family"),
        method=f"Facility boundary, modelled, strict. {BOUNDS}",
        empty=NONE,
    )


def by_month(quarter: Quarter) -> TableSpec:
    """Facility energy of each month and platform, with the month's total."""
    return TableSpec(
        id="energy_by_month",
        title="Facility energy of training runs by month and platform",
        sql=f"""select energy.usage_month, runs.accelerator_family, {COUNTS},
    {_wholes("facility_energy_kwh")},
    grouping(runs.accelerator_family) > 0 as is_total
{JOINED}
where {within(quarter, "energy.usage_month")}
group by grouping sets ((energy.usage_month, runs.accelerator_family), (energy.usage_month))
order by energy.usage_month, is_total, runs.accelerator_family""",
        columns=(
            *columns(usage_month="Month", accelerator_family="Platform"),
            *COUNTED,
            *bounded("facility_energy_kwh", "Facility energy", "energy", HALF),
        ),
        key=("usage_month", "accelerator_family"),
        method=f"Facility boundary, modelled, strict. {BOUNDS}",
        empty=NONE,
    )


def by_outcome(quarter: Quarter) -> TableSpec:
    """How the work ended, in energy; idle reserve beside the runs is a row of its own."""
    return TableSpec(
        id="energy_by_outcome",
        title="How the work ended, in energy, and idle reserve",
        sql=f"""with parts as (
    select
        case runs.state when 'succeeded' then 1 when 'running' then 2 when 'stopped' then 3 when 'failed' then 4
            when 'interrupted' then 5 else 6 end as position,
        runs.state as outcome, energy.training_run_id,
        energy.facility_energy_kwh, energy.facility_energy_kwh_low, energy.facility_energy_kwh_high
    {JOINED}
    where {within(quarter, "energy.usage_month")} and {ON_RECORD}
    union all
    select 7, 'idle reserve', null, energy.idle_share_facility_energy_kwh, null, null
    {JOINED}
    where {within(quarter, "energy.usage_month")} and {ON_RECORD}
)
select outcome, nullif(count(distinct training_run_id), 0) as run_count,
    {", ".join(whole(f"facility_energy_kwh{end}") for end in ("", "_low", "_high"))}
from parts
group by outcome, position
order by position""",
        columns=(
            Column("outcome", "Outcome", "state"),
            Column("run_count", "Runs", "count", note="not a run"),
            *bounded("facility_energy_kwh", "Facility energy", "energy", HALF),
        ),
        key=("outcome",),
        method="State is the run's last attempt's; earlier failed attempts are inside their run. Idle reserve: chips of "
        f"machines that runs shared and nobody held. {BOUNDS}",
        empty=NONE,
    )


def pue(quarter: Quarter) -> TableSpec:
    """The PUE behind every facility figure, with its source, and how much energy rests on it."""
    return TableSpec(
        id="pue",
        title="PUE used, with its source",
        sql=f"""select runs.provider_name, runs.region_id, energy.pue_ratio, energy.pue_source,
    count(*) as run_months,
    {whole_on_record("energy.facility_energy_kwh", "facility_energy_kwh")}
{JOINED}
where {within(quarter, "energy.usage_month")} and {ON_RECORD}
group by runs.provider_name, runs.region_id, energy.pue_ratio, energy.pue_source
order by runs.provider_name, runs.region_id, energy.pue_ratio, energy.pue_source""",
        columns=(
            Column("provider_name", "Provider"),
            Column("region_id", "Region", "code", note="no region on record"),
            Column("pue_ratio", "PUE", "statistic", note="no energy figure"),
            Column("pue_source", "Source, year, region or fleet", note="no energy figure"),
            Column("run_months", "Run-months", "count"),
            Column("facility_energy_kwh", "Facility energy on it", "energy", note="no energy figure"),
        ),
        key=("provider_name", "region_id", "pue_ratio", "pue_source"),
        method="The latest year not after the month's, at most four years old, of the region itself, else of the provider's "
        "fleet. A run in several regions: facility over IT energy.",
        empty=NONE,
    )

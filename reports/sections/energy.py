"""Energy of the runs and the sources it rests on: four boundaries with bounds, basis, coverage, chip-hours, PUE.

Every figure is modelled from telemetry or time unless its basis is measured. low and high are plausible bounds: fully
correlated, so they add; they are no confidence interval.
"""

from reports.model import TableSpec
from reports.sections import calibration
from reports.sections.sql import HOLDS_CHIPS, OBSERVED, OUTCOME_ORDER, POWERED, WATCHED, of_runs, ratio, whole, within
from reports.sections.tables import by, summed

BASES = ("measured", "driver_power", "utilisation_model", "time_model")  # from the strongest to the weakest
# run-months that held chips: of a tag on a disk alone no energy can be modelled
HELD = f"count(*) filter (where {HOLDS_CHIPS})"
OF_QUARTER = f"{of_runs('energy')}\nwhere {within()}"


def _of_run_months(asked: TableSpec | str, rows: str = OF_QUARTER, order: str = "", **made: str) -> TableSpec:
    """Energy of runs, with how many there are, and how many of their months have no figure or no chips."""
    counts = {
        "run_count": "count(distinct training_run_id)",
        "unknown_run_months": f"{HELD} - count(energy.facility_energy_kwh)",
        "unrecorded_run_months": f"count(*) filter (where not {HOLDS_CHIPS})",
    }
    return summed(asked, rows, order, parts=HELD, **counts, **made)


BY_ACCELERATOR = _of_run_months(
    "energy_by_accelerator",
    order="is_total, accelerator_family, accelerator_type",
    total="",
    having="count(*) > 0",
)
BY_MONTH = _of_run_months("energy_by_month", total="usage_month")


def _weakest(column: str, *names: str) -> str:
    """The last of the names, from the strongest to the weakest, that a row of the group has."""
    return f"list_extract({list(names)}, max(list_position({list(names)}, {column})))"


BY_BASIS = summed(
    "energy_by_basis",
    f"{of_runs('energy')}\nleft join windows using (accelerator_type)\nwhere {within()}",
    "accelerator_family, accelerator_type",
    before=f"""{calibration.CALIBRATED},
windows as (
    {calibration.windows_by("accelerator_type", f"where {within()}")}
)""",
    parts=HELD,
    reserved_chip_hours="sum(reserved_chip_hours)",
    busy_chip_hours="sum(busy_chip_hours)",
    coverage_ratio=ratio(OBSERVED, "sum(reserved_chip_hours)"),
    power_coverage_ratio=ratio(POWERED, "sum(reserved_chip_hours)"),
    use_coverage_ratio=ratio(WATCHED, "sum(reserved_chip_hours)"),
    busy_ratio=ratio("sum(busy_chip_hours)", WATCHED),
    energy_basis=_weakest("energy_basis", *BASES),
    power_confidence=_weakest("power_confidence", "measured", "calibrated", "published", "third_party", "user", "assumed"),
    calibrated_from=f"max({calibration.FROM})",
)


def grouped_energy(name: str, group: str, label: str) -> TableSpec:
    """Facility energy of runs by one attribute and platform, the last quarter beside it."""
    return _of_run_months(
        by("energy_by", name, group, label),
        f"""{of_runs("energy")}
left join prior
    on runs.{group} is not distinct from prior.{group} and runs.accelerator_family = prior.accelerator_family
where {within()}""",
        f"facility_energy_kwh desc nulls last, runs.{group}, runs.accelerator_family",
        before=f"""prior as (
    select {group}, accelerator_family, {whole("facility_energy_kwh", HELD)} as energy_kwh
    from {of_runs("energy")}
    where usage_month >= $before and usage_month < $start
    group by all
)""",
        prior_facility_energy_kwh="max(prior.energy_kwh)",
        accelerator_family="runs.accelerator_family",
        **{group: f"runs.{group}"},
    )


BY_OUTCOME = summed(
    "energy_by_outcome",
    "parts",
    OUTCOME_ORDER,
    before=f"""parts as (
    select state as outcome, training_run_id, facility_energy_kwh, facility_energy_kwh_low, facility_energy_kwh_high
    from {OF_QUARTER} and {HOLDS_CHIPS}
    union all
    select 'idle reserve', null, idle_share_facility_energy_kwh, null, null
    from {OF_QUARTER} and {HOLDS_CHIPS}
)""",
    run_count="nullif(count(distinct training_run_id), 0)",
)

PUE = summed("pue", f"{OF_QUARTER} and {HOLDS_CHIPS}", run_months="count(*)")

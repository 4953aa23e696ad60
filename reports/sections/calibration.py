"""Watts of chips that were calibrated from measured windows: what they are, and in words what a run's energy rests on.

Which runs take them, and what their bounds are, is decided by the models (docs/methodology/energy.md, Calibration).
"""

from reports.model import Column, TableSpec, columns
from reports.sections.sql import within

FROM = "calibrated_from"
# run-months whose watts are calibrated, each with the windows behind it; of two kinds of meters the one that the models take
CALIBRATED = """calibrated as (
    select energy.training_run_id, energy.usage_month, watts.* exclude (unmetered_share)
    from marts.fct_training_run_energy as energy
    inner join marts.dim_training_runs as runs using (training_run_id)
    inner join marts.fct_power_calibration as watts
        on runs.accelerator_type = watts.accelerator_type and coalesce(runs.sdk_version, '') = watts.sdk_version
        and energy.usage_month = watts.valid_from_month
    where energy.power_confidence = 'calibrated'
    qualify row_number() over (
        partition by energy.training_run_id, energy.usage_month
        order by watts.unmetered_share, watts.window_count desc, watts.source_kind
    ) = 1
)"""
# over a group of them: 412 windows on 4 hosts, 2026-03-02 to 2026-08-30, spread 3.1 %
WORDS = """max(window_count) || ' windows on ' || max(host_count) || ' hosts, '
    || strftime(min(first_measured_at), '%Y-%m-%d') || ' to ' || strftime(max(last_measured_at), '%Y-%m-%d')
    || ', spread ' || printf('%.1f', 100 * max(spread_w / busy_w)) || ' %'"""
COLUMN = Column(FROM, "Calibrated from", note="no watts of these runs are calibrated", is_dropped_when_empty=True)

WATTS = TableSpec(
    id="calibrated_watts",
    title="Watts of a chip, calibrated from measured windows",
    sql=f"""select accelerator_type, sdk_version, source_kind, valid_from_month, window_count, host_count, chip_hours,
    first_measured_at, last_measured_at, idle_w, mean_w, busy_w, spread_w, unmetered_share
from marts.fct_power_calibration
where {within("valid_from_month")}
qualify valid_from_month = max(valid_from_month) over (partition by accelerator_type, sdk_version, source_kind)
order by accelerator_type, sdk_version, source_kind""",
    columns=(
        *columns(accelerator_type="Accelerator"),
        Column("sdk_version", "Software", "code", note="not known"),
        *columns(source_kind="Measured by", valid_from_month="Month"),
        *columns(window_count="Windows", host_count="Hosts", chip_hours="Chip-hours"),
        *columns("time", first_measured_at="First (UTC)", last_measured_at="Last (UTC)"),
        Column("idle_w", "Idle", "number", unit="W", note="no window was idle"),
        *(Column(f"{name}_w", label, "number", unit="W") for name, label in {"mean": "Mean", "busy": "Busy"}.items()),
        Column("spread_w", "Spread", "number", unit="W"),
        Column("unmetered_share", "Not metered, up to", "ratio"),
    ),
    key=("accelerator_type", "sdk_version", "source_kind"),
    method="Measured in windows of the month and the twelve before it, the last month in this quarter; at least 20 on 3 hosts "
    "of 1 chip-hour. Runs of the same type and software without a meter take these watts instead of the public table. Bounds "
    "are the spread, upwards also what the meter does not see, and never less than 10 %.",
    is_dropped_when_empty=True,
)

"""Watts of chips that were calibrated from measured windows: what they are, and in words what a run's energy rests on.

Which runs take them, and what their bounds are, is decided by the models (docs/methodology/energy.md, Calibration).
"""

FROM = "calibrated_from"
# run-months whose watts are calibrated, each with the windows behind it; of two kinds of meters the one that the models take
CALIBRATED = """calibrated as (
    select energy.training_run_id, energy.usage_month, watts.* exclude (unmetered_share)
    from marts.fct_training_run_energy as energy
    inner join marts.dim_training_runs as runs using (training_run_id)
    inner join marts.fct_power_calibration as watts
        on runs.accelerator_type = watts.accelerator_type and coalesce(runs.sdk_version, '') = watts.sdk_version
        and energy.usage_month = watts.valid_from_month
    where energy.power_confidence = 'calibrated' and watts.refused_reason is null
    qualify row_number() over (
        partition by energy.training_run_id, energy.usage_month
        order by watts.coverage_promised is null, watts.unmetered_share, watts.window_count desc, watts.source_kind
    ) = 1
)"""


def windows_by(names: str, rows: str) -> str:
    """By group of such run-months, their windows in words.

    As "412 windows of 6 workloads on 4 hosts, 2026-03-02 to 2026-08-30, within 17.4 %".
    """
    return f"""select {names}, max(window_count) || ' windows of ' || max(workload_count)
        || ' workloads on ' || max(host_count) || ' hosts, '
        || strftime(min(first_measured_at), '%Y-%m-%d') || ' to ' || strftime(max(last_measured_at), '%Y-%m-%d')
        || ', within ' || printf('%.1f', 100 * max(spread_w / busy_w)) || ' %' as {FROM}
    from calibrated
    {rows}
    group by {names}"""

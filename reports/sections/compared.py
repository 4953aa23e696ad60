"""What is compared with what: which runs, what was left out, and what no run carries. The verdicts: verdicts.py."""

from reports.sections import calibration
from reports.sections.sql import OBSERVED, ratio
from reports.sections.tables import summed


def _used(name: str) -> str:
    """The different values of a column, in words."""
    words = f"replace({name}, '_', ' ')"
    return f"string_agg(distinct {words}, ', ' order by {words}) filter (where facility_energy_kwh is not null) as {name}"


OF_TYPE = "workload_key, accelerator_family, calibrated.accelerator_type"
# Compared are finished runs with a workload. `ended`: the quarter's, each with whether its pair has a finished run on both sides.
WHAT_WAS_COMPARED = summed(
    "compared_runs",
    """ended
left join energy using (workload_key, accelerator_family)
left join calibrations using (workload_key, accelerator_family)""",
    "workload_key nulls last, accelerator_family desc",
    before=f"""runs as (
    select *, workload_key is not null and state = 'succeeded' and is_target_reached is distinct from false as is_compared
    from marts.dim_training_runs
    where accelerator_family in ('trainium', 'tpu') and ended_at < $end
),
ended as (
    select *, is_compared and pair_key is not null
        and min(accelerator_family) filter (where is_compared) over (partition by workload_key, pair_key)
            <> max(accelerator_family) filter (where is_compared) over (partition by workload_key, pair_key) as is_paired
    from runs
    qualify ended_at >= $start
),
{calibration.CALIBRATED},
windows as (
    {calibration.windows_by(OF_TYPE, "inner join ended using (training_run_id) where is_compared")}
),
calibrations as (
    select workload_key, accelerator_family,
        string_agg(accelerator_type || ': ' || {calibration.FROM}, '; ' order by accelerator_type) as {calibration.FROM}
    from windows
    group by workload_key, accelerator_family
),
energy as (
    select workload_key, accelerator_family, {_used("energy_basis")}, {_used("power_confidence")},
        {ratio(OBSERVED, "sum(reserved_chip_hours)")} as coverage_ratio
    from marts.fct_training_run_energy
    inner join ended using (training_run_id)
    where is_compared
    group by workload_key, accelerator_family
)""",
    accelerator_types="string_agg(distinct accelerator_type, ', ' order by accelerator_type)",
    regions="string_agg(distinct region_id, ', ' order by region_id)",
    ended_count="count(*)",
    compared_count="count(*) filter (where is_compared)",
    unfinished_count="count(*) filter (where state <> 'succeeded')",
    target_missed_count="count(*) filter (where state = 'succeeded' and is_target_reached = false)",
    paired_count="count(*) filter (where is_paired)",
    with_tokens_count="count(*) filter (where is_compared and useful_tokens > 0)",
)

RESIDUAL_SHARES = "residual_shares"

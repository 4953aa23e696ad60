"""What is compared with what: which runs, what was left out, and what no run carries. The verdicts: verdicts.py."""

from reports.sections import calibration
from reports.sections.sql import OBSERVED, ratio, within
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

NAMED_REASONS = ("run", "idle", "unused_commitment", "unlogged", "no_record")


def _cost(reasons: str) -> str:
    return f"coalesce(sum(effective_cost) filter (where {reasons}), 0)"


# what runs cost has the type that the bill names; a correction without use has none
RESIDUAL_SHARES = summed(
    "residual_shares",
    "accelerator_costs",
    before=f"""accelerator_costs as (
    select provider_name, billing_currency, 'not named' as accelerator_type, 'run' as reason, effective_cost
    from marts.fct_run_cell_costs
    where cost_component = 'accelerator' and {within()}
    union all
    select provider_name, billing_currency, unnest([accelerator_type, 'not named']), 'run',
        unnest([effective_cost, -effective_cost])
    from marts.fct_purchase_costs
    where {within()}
    union all
    select provider_name, billing_currency, coalesce(nullif(accelerator_type, ''), 'not named'), reason, effective_cost
    from marts.fct_residual_costs
    where (cost_component = 'accelerator' or accelerator_type <> '') and {within()}
)""",
    total="provider_name, billing_currency",
    having="""grouping(accelerator_type) > 0 or accelerator_type <> 'not named' or bool_or(reason <> 'run')
    or sum(effective_cost) <> 0""",
    **{f"{reason}_cost": _cost(f"reason = '{reason}'") for reason in NAMED_REASONS},
    other_cost=_cost(f"reason not in {NAMED_REASONS}"),
    residual_cost=_cost("reason <> 'run'"),
    accelerator_cost="sum(effective_cost)",
    residual_ratio=ratio(_cost("reason <> 'run'"), "sum(effective_cost)"),
)

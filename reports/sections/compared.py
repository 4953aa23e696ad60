"""What is compared with what: which runs, what was left out, and what no run carries. The verdicts: verdicts.py."""

from dataclasses import replace

from reports.model import Column, TableSpec, columns
from reports.sections import calibration
from reports.sections.sql import lines, nine_digits, within

GROUP = "Energy of the compared runs"

# CTEs that end in `compared`: finished runs of the quarter and their twins, one row each.
COMPARED_RUNS = """finished as (
    select training_run_id, workload_key, pair_key, accelerator_family, useful_tokens,
        ended_at >= $start as is_in_quarter,
        pair_key is not null and max(ended_at) over (partition by workload_key, pair_key) >= $start
            as is_pair_of_quarter
    from marts.dim_training_runs
    where accelerator_family in ('trainium', 'tpu') and workload_key is not null and state = 'succeeded'
        and is_target_reached is distinct from false and ended_at < $end
),
compared as (
    select * from finished
    where is_in_quarter or is_pair_of_quarter
)"""

WHAT_WAS_COMPARED = TableSpec(
    id="compared_runs",
    title="What was compared, what was not, and on what the energy rests",
    sql=f"""with {COMPARED_RUNS},
{calibration.CALIBRATED},
windows as (
    select compared.workload_key, compared.accelerator_family, calibrated.accelerator_type, {calibration.WORDS} as words
    from calibrated
    inner join compared using (training_run_id)
    where compared.is_in_quarter
    group by compared.workload_key, compared.accelerator_family, calibrated.accelerator_type
),
calibrations as (
    select workload_key, accelerator_family,
        string_agg(accelerator_type || ': ' || words, '; ' order by accelerator_type) as {calibration.FROM}
    from windows
    group by workload_key, accelerator_family
),
ended as (
    select training_run_id, workload_key, accelerator_family, accelerator_type, region_id, state, is_target_reached, useful_tokens
    from marts.dim_training_runs
    where accelerator_family in ('trainium', 'tpu') and {within("ended_at")}
),
matched as (
    select workload_key, pair_key from compared where is_pair_of_quarter
    group by workload_key, pair_key having count(distinct accelerator_family) = 2
),
energy as (
    select training_run_id,
        sum(cast(telemetry_coverage_ratio as decimal(10, 9)) * cast(reserved_chip_hours as decimal(20, 9))) as observed,
        sum(reserved_chip_hours) as reserved
    from marts.fct_training_run_energy
    group by training_run_id
),
bases as (
    select workload_key, accelerator_family,
        string_agg(distinct replace(energy_basis, '_', ' '), ', ' order by replace(energy_basis, '_', ' ')) as energy_basis,
        string_agg(distinct replace(power_confidence, '_', ' '), ', ' order by replace(power_confidence, '_', ' '))
            as power_confidence
    from marts.fct_training_run_energy
    inner join compared using (training_run_id)
    where is_in_quarter and fct_training_run_energy.facility_energy_kwh is not null
    group by workload_key, accelerator_family
)
select ended.workload_key, ended.accelerator_family,
    string_agg(distinct ended.accelerator_type, ', ' order by ended.accelerator_type) as accelerator_types,
    string_agg(distinct ended.region_id, ', ' order by ended.region_id) as regions,
    count(*) as ended_count,
    count(compared.training_run_id) as compared_count,
    count(*) filter (where ended.state <> 'succeeded') as unfinished_count,
    count(*) filter (where ended.state = 'succeeded' and ended.is_target_reached = false) as target_missed_count,
    count(compared.training_run_id) filter (where matched.pair_key is not null) as paired_count,
    count(compared.training_run_id) filter (where compared.useful_tokens > 0) as with_tokens_count,
    min(bases.energy_basis) as energy_basis,
    min(bases.power_confidence) as power_confidence,
    min(calibrations.{calibration.FROM}) as {calibration.FROM},
    {nine_digits("cast(sum(energy.observed) as double) / nullif(cast(sum(energy.reserved) as double), 0)")} as coverage_ratio
from ended
left join compared on ended.training_run_id = compared.training_run_id
left join matched on compared.workload_key = matched.workload_key and compared.pair_key = matched.pair_key
left join energy on compared.training_run_id = energy.training_run_id
left join bases on ended.workload_key = bases.workload_key and ended.accelerator_family = bases.accelerator_family
left join calibrations
    on ended.workload_key = calibrations.workload_key and ended.accelerator_family = calibrations.accelerator_family
group by ended.workload_key, ended.accelerator_family
order by ended.workload_key nulls last, ended.accelerator_family desc""",
    columns=(
        Column("workload_key", "Workload", "code", note="no workload named: never compared", is_quiet_when_repeated=True),
        *columns(accelerator_family="Platform", accelerator_types="Accelerators"),
        *columns(note="no region on record", regions="Regions"),
        *columns(group="Runs", ended_count="Ended", unfinished_count="not finished", target_missed_count="target missed"),
        *columns(group="Runs", compared_count="Compared", with_tokens_count="with tokens", paired_count="in pairs"),
        *columns("text", note="no energy figure", group=GROUP, energy_basis="Energy basis", power_confidence="Chip power"),
        replace(calibration.COLUMN, group=GROUP),
        *columns(note="no chip time", group=GROUP, coverage_ratio="Observed"),
    ),
    key=("workload_key", "accelerator_family"),
    method="Runs that ended from $month_1_name to $month_3_name, by platform. Not "
    "finished: the last attempt failed, was stopped or interrupted. Useful tokens exclude what was trained again after a "
    "failure. Observed: chip time with telemetry. Energy basis and chip power: all that were used.",
    empty="No run on Trainium or TPU ended in this quarter.",
    page_rows=60,
)

REASONS = lines(
    f"coalesce(sum(effective_cost) filter (where reason = '{reason}'), 0) as {reason}_cost"
    for reason in ("run", "idle", "unused_commitment", "unlogged")
)
RESIDUAL = "coalesce(sum(effective_cost) filter (where reason <> 'run'), 0)"
RESIDUAL_SHARES = TableSpec(
    id="residual_shares",
    title="Accelerator cost that no run carries, by cloud",
    sql=f"""with accelerator_costs as (
    select provider_name, billing_currency, 'run' as reason, effective_cost
    from marts.fct_run_cell_costs
    where cost_component = 'accelerator' and {within()}
    union all
    select provider_name, billing_currency, reason, effective_cost
    from marts.fct_residual_costs
    where cost_component = 'accelerator' and {within()}
)
select provider_name, billing_currency,
    {REASONS},
    coalesce(sum(effective_cost) filter (where reason not in ('run', 'idle', 'unused_commitment', 'unlogged')), 0) as other_cost,
    sum(effective_cost) as accelerator_cost,
    {nine_digits(f"cast({RESIDUAL} as double) / nullif(cast(sum(effective_cost) as double), 0)")} as residual_ratio
from accelerator_costs
group by provider_name, billing_currency
order by provider_name, billing_currency""",
    columns=(
        *columns(provider_name="Cloud", billing_currency="Currency", run_cost="Runs", idle_cost="Idle"),
        *columns(unused_commitment_cost="Unused commitment", unlogged_cost="In no run record", other_cost="Other"),
        *columns(accelerator_cost="All accelerators"),
        *columns(note="runs carry all of it", residual_ratio="Share no run carries"),
    ),
    key=("provider_name", "billing_currency"),
    method="Effective cost of accelerators in the quarter; a bill does not say which platform an hour that no run holds "
    "was meant for, so the share is the cloud's, other accelerators included. A difference between platforms smaller than "
    "the difference of these shares proves nothing.",
    empty="No accelerator cost in this quarter.",
)

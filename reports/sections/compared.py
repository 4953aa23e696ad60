"""What is compared with what: which runs, what was left out, and what no run carries. The verdicts: verdicts.py."""

from reports.sections import calibration
from reports.sections.sql import lines, ratio, within
from reports.sections.tables import table

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

WHAT_WAS_COMPARED = table("compared_runs").answered_by(f"""with {COMPARED_RUNS},
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
    {ratio("sum(energy.observed)", "sum(energy.reserved)")} as coverage_ratio
from ended
left join compared on ended.training_run_id = compared.training_run_id
left join matched on compared.workload_key = matched.workload_key and compared.pair_key = matched.pair_key
left join energy on compared.training_run_id = energy.training_run_id
left join bases on ended.workload_key = bases.workload_key and ended.accelerator_family = bases.accelerator_family
left join calibrations
    on ended.workload_key = calibrations.workload_key and ended.accelerator_family = calibrations.accelerator_family
group by ended.workload_key, ended.accelerator_family
order by ended.workload_key nulls last, ended.accelerator_family desc""")

NAMED_REASONS = ("run", "idle", "unused_commitment", "unlogged", "no_record")
REASONS = lines(
    f"coalesce(sum(effective_cost) filter (where reason = '{reason}'), 0) as {reason}_cost" for reason in NAMED_REASONS
)
NOT_OF_A_RUN = "coalesce(sum(effective_cost) filter (where reason <> 'run'), 0)"
# what runs cost has the type that the bill names; a correction without use has none
RESIDUAL_SHARES = table("residual_shares").answered_by(f"""with accelerator_costs as (
    select provider_name, billing_currency, '' as accelerator_type, 'run' as reason, effective_cost
    from marts.fct_run_cell_costs
    where cost_component = 'accelerator' and {within()}
    union all
    select provider_name, billing_currency, unnest([accelerator_type, '']), 'run', unnest([effective_cost, -effective_cost])
    from marts.fct_purchase_costs
    where {within()}
    union all
    select provider_name, billing_currency, accelerator_type, reason, effective_cost
    from marts.fct_residual_costs
    where (cost_component = 'accelerator' or accelerator_type <> '') and {within()}
)
select provider_name, billing_currency,
    case when accelerator_type = '' then 'not named' else accelerator_type end as accelerator_type,
    {REASONS},
    coalesce(sum(effective_cost) filter (where reason not in {NAMED_REASONS}), 0) as other_cost,
    {NOT_OF_A_RUN} as residual_cost,
    sum(effective_cost) as accelerator_cost,
    {ratio(NOT_OF_A_RUN, "sum(effective_cost)")} as residual_ratio,
    grouping(accelerator_type) > 0 as is_total
from accelerator_costs
group by grouping sets ((provider_name, billing_currency, accelerator_type), (provider_name, billing_currency))
having grouping(accelerator_type) > 0 or accelerator_type <> '' or bool_or(reason <> 'run') or sum(effective_cost) <> 0
order by provider_name, billing_currency, is_total, accelerator_type""")

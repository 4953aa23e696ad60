with attempts as (
    select
        training_run_id,
        coalesce(attempt_id, '') as attempt_id,
        record_system,
        state,
        started_at,
        ended_at,
        {{ instant_us('started_at') }} as from_us,
        {{ instant_us('ended_at') }} as to_us
    from {{ ref('int_run_attempts') }}
    where started_at is not null and not is_ambiguous
),

lost as (
    select * from attempts
    where state in ('failed', 'interrupted') and ended_at > started_at
),

lost_steps as (
    select
        lost.training_run_id,
        lost.attempt_id,
        lost.from_us,
        lost.to_us,
        max(case when steps.at_us >= lost.from_us and steps.at_us < lost.to_us then steps.at_us end) as last_step_us,
        min(case when steps.at_us >= lost.to_us then steps.at_us end) as next_step_us
    from lost
    inner join {{ ref('int_run_steps') }} as steps using (training_run_id)
    group by lost.training_run_id, lost.attempt_id, lost.from_us, lost.to_us
),

-- the step from which the next attempt went on shows what the last checkpoint had, wherever it lay
resumed as (
    select
        lost_steps.training_run_id,
        lost_steps.attempt_id,
        lost_steps.from_us,
        lost_steps.to_us,
        lost_steps.last_step_us,
        min(resumptions.step) as resumed_step
    from lost_steps
    inner join {{ ref('int_run_steps') }} as resumptions
        on lost_steps.training_run_id = resumptions.training_run_id and lost_steps.next_step_us = resumptions.at_us
    where lost_steps.last_step_us is not null
    group by
        lost_steps.training_run_id, lost_steps.attempt_id, lost_steps.from_us, lost_steps.to_us, lost_steps.last_step_us
),

kept_by_steps as (
    select
        resumed.training_run_id,
        resumed.attempt_id,
        resumed.from_us,
        -- where it went on behind its last step, the time after that step's beginning is all that may be lost
        coalesce(min(steps.at_us), max(resumed.last_step_us)) as kept_us
    from resumed
    left join {{ ref('int_run_steps') }} as steps
        on
            resumed.training_run_id = steps.training_run_id
            and steps.at_us >= resumed.from_us
            and steps.at_us < resumed.to_us
            and steps.step >= resumed.resumed_step
    group by resumed.training_run_id, resumed.attempt_id, resumed.from_us
),

checkpoints as (
    select distinct
        records.training_run_id,
        {{ instant_us('progress.happened_at') }} as at_us
    from {{ ref('stg_training_runs__progress') }} as progress
    inner join {{ ref('int_run_records') }} as records using (record_system, record_run_id)
    where progress.progress_kind = 'checkpoint' and progress.happened_at is not null
),

kept_by_checkpoints as (
    select
        lost.training_run_id,
        lost.attempt_id,
        lost.from_us,
        max(checkpoints.at_us) as kept_us
    from lost
    inner join checkpoints
        on
            lost.training_run_id = checkpoints.training_run_id
            and checkpoints.at_us >= lost.from_us
            and checkpoints.at_us <= lost.to_us
    group by lost.training_run_id, lost.attempt_id, lost.from_us
),

kept as (
    select
        lost.*,
        coalesce(kept_by_steps.kept_us, kept_by_checkpoints.kept_us) as kept_us,
        case
            when kept_by_steps.kept_us is not null then 'step that was resumed'
            when kept_by_checkpoints.kept_us is not null then 'checkpoint'
        end as kept_because
    from lost
    left join kept_by_steps using (training_run_id, attempt_id, from_us)
    left join kept_by_checkpoints using (training_run_id, attempt_id, from_us)
),

-- machines while the attempt held them
held as (
    select
        kept.training_run_id,
        kept.attempt_id,
        kept.from_us,
        kept.kept_us,
        holdings.held_chips,
        greatest(kept.from_us, {{ instant_us('holdings.started_at') }}) as held_from_us,
        least(kept.to_us, {{ instant_us('holdings.ended_at') }}) as held_to_us
    from kept
    inner join {{ ref('int_run_holdings') }} as holdings
        on
            kept.training_run_id = holdings.training_run_id
            and holdings.started_at < kept.ended_at
            and holdings.ended_at > kept.started_at
),

-- a slice or an UltraServer works as a whole: from the first machine that is lost, and that no other replaces, the others wait
first_losses as (
    select
        held.training_run_id,
        held.attempt_id,
        held.from_us,
        min(held.held_to_us) as broken_us
    from held
    left join held as later
        on
            held.training_run_id = later.training_run_id
            and held.attempt_id = later.attempt_id
            and held.from_us = later.from_us
            and later.held_from_us >= held.held_to_us
    where later.training_run_id is null
    group by held.training_run_id, held.attempt_id, held.from_us
),

chip_times as (
    select
        training_run_id,
        attempt_id,
        from_us,
        case
            when count(*) = count(held.held_chips)
                then {{ chip_time(
                    'held.held_chips',
                    'cast(greatest(held.held_to_us - greatest(coalesce(held.kept_us, from_us), held.held_from_us), 0) as decimal(18, 0))'
                ) }}
        end as lost_chip_us,
        case
            when count(*) = count(held.held_chips)
                then {{ chip_time(
                    'held.held_chips',
                    'cast(greatest(held.held_to_us - greatest(first_losses.broken_us, held.held_from_us), 0) as decimal(18, 0))'
                ) }}
        end as waiting_chip_us
    from held
    left join first_losses using (training_run_id, attempt_id, from_us)
    group by training_run_id, attempt_id, from_us
)

select
    attempts.training_run_id,
    attempts.attempt_id,
    attempts.record_system,
    attempts.state,
    attempts.started_at,
    attempts.ended_at,
    kept.kept_us,
    {{ timestamp_of('kept.kept_us') }} as kept_until,
    kept.kept_because,
    cast(kept.to_us - coalesce(kept.kept_us, kept.from_us) as decimal(38, 0)) as lost_us,
    chip_times.lost_chip_us,
    chip_times.waiting_chip_us,
    kept.training_run_id is not null as is_lost
from attempts
left join kept
    on
        attempts.training_run_id = kept.training_run_id
        and attempts.attempt_id = kept.attempt_id
        and attempts.from_us = kept.from_us
        and attempts.to_us = kept.to_us
left join chip_times
    on
        kept.training_run_id = chip_times.training_run_id
        and kept.attempt_id = chip_times.attempt_id
        and kept.from_us = chip_times.from_us

with records as (
    select distinct record_system, record_run_id, training_run_id
    from {{ ref('int_run_records') }}
    where not is_ambiguous
),

-- steps and beginnings with their times, as the recorder of goodput tells them
moments as (
    select distinct
        records.training_run_id,
        progress.progress_kind,
        progress.step,
        {{ instant_us('progress.happened_at') }} as at_us
    from {{ ref('stg_training_runs__progress') }} as progress
    inner join records using (record_system, record_run_id)
    where
        progress.happened_at is not null
        and (
            progress.progress_kind in ('job_start', 'job_end')
            or (progress.progress_kind = 'step' and progress.step is not null)
        )
),

followed as (
    select
        *,
        lead(progress_kind) over (partition by training_run_id order by at_us, progress_kind, step) as next_kind,
        lead(at_us) over (partition by training_run_id order by at_us, progress_kind, step) as next_us,
        -- the run went back to a step before this one: what was done from there on was done again, or given up
        min(case when progress_kind = 'step' then step end) over (
            partition by training_run_id order by at_us, progress_kind, step
            rows between 1 following and unbounded following
        ) as least_later_step
    from moments
),

steps as (
    select
        training_run_id,
        step,
        at_us,
        -- a step ends where the next begins; nobody tells when the last before a new start or an end did
        case when next_kind = 'step' then next_us end as to_us,
        coalesce(least_later_step > step, true) as is_kept
    from followed
    where progress_kind = 'step'
),

badput_ends as (
    select distinct
        records.training_run_id,
        progress.progress_kind,
        {{ instant_us('progress.happened_at') }} as from_us,
        {{ instant_us('progress.until_at') }} as to_us
    from {{ ref('stg_training_runs__progress') }} as progress
    inner join records using (record_system, record_run_id)
    where progress.progress_kind = 'data_loading' or progress.progress_kind like 'custom:%'
),

-- start and end of a span are two entries
badput as (
    select
        starts.training_run_id,
        starts.from_us,
        min(ends.to_us) as to_us
    from badput_ends as starts
    inner join badput_ends as ends
        on
            starts.training_run_id = ends.training_run_id
            and starts.progress_kind = ends.progress_kind
            and ends.to_us >= starts.from_us
    where starts.from_us is not null
    group by starts.training_run_id, starts.progress_kind, starts.from_us
),

waits as (
    select
        steps.training_run_id,
        steps.step,
        steps.at_us,
        sum(least(steps.to_us, badput.to_us) - greatest(steps.at_us, badput.from_us)) as wait_us
    from steps
    inner join badput
        on
            steps.training_run_id = badput.training_run_id
            and badput.from_us < steps.to_us
            and badput.to_us > steps.at_us
    group by steps.training_run_id, steps.step, steps.at_us
)

select
    training_run_id,
    step,
    at_us,
    steps.to_us,
    steps.is_kept,
    cast(greatest(steps.to_us - at_us - coalesce(waits.wait_us, 0), 0) as decimal(38, 0)) as step_us
from steps
left join waits using (training_run_id, step, at_us)

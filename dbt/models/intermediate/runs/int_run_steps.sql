{{ config(meta={'empty_without': ['stg_training_runs__progress']}) }}

with records as (
    select distinct record_system, record_run_id, training_run_id
    from {{ ref('int_run_records') }}
    where not is_ambiguous
),

-- steps and beginnings with their times, as the recorder of goodput shows them
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
        -- a step ends where the next begins; nothing shows when the last before a new start or an end did
        case when next_kind = 'step' then next_us end as to_us,
        coalesce(least_later_step > step, true) as is_kept
    from followed
    where progress_kind = 'step'
),

-- start and end of a span are two entries: a start belongs to the next end of its kind. By windows, for each step may have both
edges as (
    select distinct
        records.training_run_id,
        progress.progress_kind,
        {{ instant_us('coalesce(progress.happened_at, progress.until_at)') }} as at_us,
        progress.happened_at is null as is_end,
        {{ instant_us('progress.until_at') }} as until_us
    from {{ ref('stg_training_runs__progress') }} as progress
    inner join records using (record_system, record_run_id)
    where
        (progress.progress_kind = 'data_loading' or progress.progress_kind like 'custom:%')
        and coalesce(progress.happened_at, progress.until_at) is not null
),

closed_edges as (
    select
        training_run_id,
        at_us,
        is_end,
        coalesce(
            until_us,
            min(case when is_end then at_us end) over (
                partition by training_run_id, progress_kind order by at_us, is_end
                rows between current row and unbounded following
            )
        ) as until_us
    from edges
),

-- the step in which a span begins
points as (
    select training_run_id, at_us, cast(null as bigint) as until_us, at_us as step_at_us, 0 as place from steps
    union all
    select training_run_id, at_us, until_us, cast(null as bigint) as step_at_us, 1 as place from closed_edges
    where not is_end
),

placed as (
    select
        training_run_id,
        at_us,
        until_us,
        place,
        max(step_at_us) over (
            partition by training_run_id order by at_us, place rows between unbounded preceding and current row
        ) as step_at_us
    from points
),

waits as (
    select
        steps.training_run_id,
        steps.step,
        steps.at_us,
        sum(greatest(least(steps.to_us, placed.until_us) - placed.at_us, 0)) as wait_us
    from placed
    inner join steps on placed.training_run_id = steps.training_run_id and placed.step_at_us = steps.at_us
    where placed.place = 1
    group by steps.training_run_id, steps.step, steps.at_us
)

select
    training_run_id,
    step,
    at_us,
    steps.to_us,
    steps.is_kept,
    case
        when steps.to_us is not null
            then cast(greatest(steps.to_us - at_us - coalesce(waits.wait_us, 0), 0) as decimal(38, 0))
    end as step_us
from steps
left join waits using (training_run_id, step, at_us)

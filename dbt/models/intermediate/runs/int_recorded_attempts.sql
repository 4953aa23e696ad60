{%- set never = "timestamp '9999-01-01 00:00:00'" %}
{%- set attempt = 'training_run_id, record_system, record_run_id, attempt_name, attempt_start' %}
{%- set is_place = "record_system = 'run_json' and attempt_name is null" %}
{%- set in_order = 'started_at nulls first, ended_at nulls last, state, row_number' %}

with records as (
    select
        training_run_id,
        record_system,
        record_run_id,
        source_name,
        source_object,
        bool_or(is_ambiguous) as is_ambiguous,
        min(system_rank) as system_rank
    from {{ ref('int_run_records') }}
    group by all
),

machines as (
    select source_name, source_object, record_system, record_run_id, attempt_id, min(resource_id) as machine
    from {{ ref('stg_training_runs__nodes') }}
    where record_system = 'run_json'
    group by all
),

recorded as (
    select
        records.training_run_id,
        records.is_ambiguous,
        attempts.record_system,
        records.system_rank,
        attempts.record_run_id,
        -- another system's attempt is reported again whenever the system is asked. Of managed jobs the first is always called 1
        case when attempts.record_system in ('sagemaker', 'vertex') then attempts.started_at end as attempt_start,
        attempts.attempt_id,
        coalesce(
            {{ attempt_name('attempts.record_system', 'attempts.attempt_id') }},
            case when attempts.record_system <> 'run_json' then attempts.attempt_id end
        ) as attempt_name,
        machines.machine,
        attempts.state,
        attempts.started_at,
        attempts.ended_at,
        attempts.row_number
    from {{ ref('stg_training_runs__attempts') }} as attempts
    inner join records using (record_system, record_run_id, source_name, source_object)
    left join machines
        on
            attempts.source_name = machines.source_name
            and attempts.source_object = machines.source_object
            and attempts.record_system = machines.record_system
            and attempts.record_run_id = machines.record_run_id
            and attempts.attempt_id = machines.attempt_id
),

-- what a name for an attempt means: several tell of it, and it is used again, and then there is time between the two
spans as (
    select
        *,
        max(coalesce(ended_at, {{ never }})) over (
            partition by {{ attempt }} order by {{ in_order }} rows between unbounded preceding and 1 preceding
        ) as reached,
        count(*) over (
            partition by {{ attempt }}, machine order by {{ in_order }} rows between unbounded preceding and 1 preceding
        ) = 0 and machine is not null as is_new_machine,
        ended_at < started_at + interval 1 minute
        and lag(ended_at < started_at + interval 1 minute) over (partition by {{ attempt }} order by {{ in_order }}) as are_short
    from recorded
    where not ({{ is_place }})
),

numbered as (
    select
        *,
        -- of our own records one that begins as the other ends is another: a file for each attempt. Eight recorders of a job of a
        -- second may not overlap: another machine within a minute is one of the attempt's where each saw less than that
        sum(case
            when is_new_machine and are_short and started_at <= reached + interval 1 minute then 0
            when
                started_at > reached
                or (record_system = 'run_json' and started_at = reached and coalesce(ended_at, {{ never }}) > started_at)
                then 1
            else 0
        end) over (
            partition by {{ attempt }} order by {{ in_order }} rows between unbounded preceding and current row
        ) as span
    from spans
),

ranked as (
    select
        *,
        row_number() over (
            partition by {{ attempt }}, span
            order by
                -- each machine records itself: one that failed takes the others with it, and while one goes on the attempt does
                case
                    when record_system <> 'run_json' or state = 'failed' then 0
                    when state = 'interrupted' then 1
                    when state = 'stopped' then 2
                    when state = 'running' then 3
                    when state = 'unknown' then 4
                    else 5
                end,
                case when ended_at is null then 1 else 0 end,
                case when state in ('unknown', 'running') then 1 else 0 end,
                ended_at desc,
                -- who saw only some of its machines may not have seen the one that was taken away
                case when state = 'interrupted' then 0 else 1 end,
                state,
                row_number desc
        ) as place
    from numbered
),

own_attempts as (
    -- word for word
    select
        training_run_id,
        is_ambiguous,
        record_system,
        system_rank,
        attempt_id,
        state,
        started_at,
        ended_at,
        max(row_number) as row_number
    from recorded
    where {{ is_place }}
    group by all
),

other_attempts as (
    select
        training_run_id,
        is_ambiguous,
        record_system,
        system_rank,
        min(attempt_id) as attempt_id,
        max(case when place = 1 then state end) as state,
        min(started_at) as started_at,
        case
            when
                record_system <> 'run_json'
                or max(case when place = 1 then state end) <> 'running'
                or count(*) = count(ended_at)
                then max(ended_at)
        end as ended_at,
        max(row_number) as row_number
    from ranked
    group by training_run_id, is_ambiguous, record_system, system_rank, record_run_id, attempt_name, attempt_start, span
),

moments as (
    select distinct
        records.training_run_id,
        records.is_ambiguous,
        records.system_rank,
        progress.progress_kind,
        progress.happened_at
    from {{ ref('stg_training_runs__progress') }} as progress
    inner join records using (record_system, record_run_id)
    where record_system = 'goodput' and progress.happened_at is not null
),

-- the recorder of goodput shows when a job began, and not which of its attempts it was: each beginning is one
beginnings as (
    select
        training_run_id,
        is_ambiguous,
        system_rank,
        happened_at as started_at,
        row_number() over (partition by training_run_id order by happened_at) as place,
        lead(happened_at) over (partition by training_run_id order by happened_at) as next_start
    from moments
    where progress_kind = 'job_start'
),

logged_attempts as (
    select
        beginnings.training_run_id,
        beginnings.is_ambiguous,
        'goodput' as record_system,
        beginnings.system_rank,
        'goodput-' || cast(beginnings.place as string) as attempt_id,
        case
            when count(case when moments.progress_kind = 'job_end' then 1 end) > 0 then 'succeeded'
            when beginnings.next_start is not null then 'interrupted'
            else 'unknown'
        end as state,
        beginnings.started_at,
        -- one that was begun again ended at the latest moment that it reported
        case
            when beginnings.next_start is not null or count(case when moments.progress_kind = 'job_end' then 1 end) > 0
                then max(moments.happened_at)
        end as ended_at,
        beginnings.place as row_number
    from beginnings
    inner join moments
        on
            beginnings.training_run_id = moments.training_run_id
            and moments.happened_at >= beginnings.started_at
            and (moments.happened_at < beginnings.next_start or beginnings.next_start is null)
    group by
        beginnings.training_run_id, beginnings.is_ambiguous, beginnings.system_rank, beginnings.place, beginnings.started_at,
        beginnings.next_start
)

select * from own_attempts
union all
select * from other_attempts
union all
select * from logged_attempts

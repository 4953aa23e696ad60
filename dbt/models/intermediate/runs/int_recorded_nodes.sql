{%- set never = "timestamp '9999-01-01 00:00:00'" %}
{#- of our own records and of managed jobs each file has its own attempts #}
{%- set own_files = "record_system in ('run_json', 'sagemaker', 'vertex')" %}
{%- set recorder = 'training_run_id, record_system, record_run_id, attempt_name, resource_id, accelerator_type' %}

with records as (
    select
        training_run_id,
        record_system,
        record_run_id,
        min(system_rank) as system_rank,
        bool_or(is_ambiguous) as is_ambiguous
    from {{ ref('int_run_records') }}
    group by all
),

attempts as (
    select
        record_system,
        record_run_id,
        attempt_id,
        case when {{ own_files }} then source_name || '/' || source_object else '' end as own_file,
        min(started_at) as started_at,
        max(ended_at) as ended_at
    from {{ ref('stg_training_runs__attempts') }}
    group by all
),

nodes as (
    select
        *,
        case when {{ own_files }} then source_name || '/' || source_object else '' end as own_file
    from {{ ref('stg_training_runs__nodes') }}
),

stated_nodes as (
    select
        records.training_run_id,
        records.is_ambiguous,
        record_system,
        record_system in ('sagemaker', 'vertex') as is_managed_job,
        records.system_rank,
        record_run_id,
        -- a file of one machine is a recorder's
        case
            when count(*) over (partition by record_system, record_run_id, own_file) = 1
                then {{ attempt_name('record_system', 'attempt_id') }}
        end as attempt_name,
        nodes.resource_id,
        nodes.accelerator_type,
        nodes.chips,
        nodes.node_count,
        coalesce(nodes.started_at, attempts.started_at) as started_at,
        coalesce(nodes.ended_at, attempts.ended_at, {{ never }}) as ended_at
    from nodes
    inner join records using (record_system, record_run_id)
    left join attempts using (record_system, record_run_id, attempt_id, own_file)
),

-- two recorders of one attempt on one machine see one machine, each all of its chips
seen_times as (
    select
        *,
        max(ended_at) over (
            partition by {{ recorder }} order by started_at, ended_at rows between unbounded preceding and 1 preceding
        ) as reached
    from stated_nodes
    where attempt_name is not null
),

seen_stretches as (
    select
        *,
        sum(case when started_at < reached then 0 else 1 end) over (
            partition by {{ recorder }} order by started_at, ended_at rows between unbounded preceding and current row
        ) as stretch
    from seen_times
),

machine_nodes as (
    select
        training_run_id,
        bool_or(is_ambiguous) as is_ambiguous,
        record_system,
        false as is_managed_job,
        min(system_rank) as system_rank,
        resource_id,
        accelerator_type,
        case when count(*) = count(chips) then max(chips) end as chips,
        max(node_count) as node_count,
        min(started_at) as started_at,
        max(ended_at) as ended_at
    from seen_stretches
    group by {{ recorder }}, stretch

    union all

    select
        training_run_id, is_ambiguous, record_system, is_managed_job, system_rank, resource_id, accelerator_type, chips,
        node_count, started_at, ended_at
    from stated_nodes
    where attempt_name is null
)

-- another system records a node whenever it is asked: first without an end, then with it
select
    training_run_id,
    is_ambiguous,
    is_managed_job,
    system_rank,
    record_system,
    resource_id,
    accelerator_type,
    chips,
    node_count,
    started_at,
    coalesce(max(case when ended_at < {{ never }} then ended_at end), {{ never }}) as ended_at
from machine_nodes
group by
    training_run_id, is_ambiguous, is_managed_job, system_rank, record_system, resource_id, accelerator_type, chips,
    node_count, started_at, case when record_system = 'run_json' then ended_at end

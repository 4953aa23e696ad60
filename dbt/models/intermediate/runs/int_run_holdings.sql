{%- set never = "timestamp '9999-01-01 00:00:00'" %}
{#- of our own records and of managed jobs each file has its own attempts #}
{%- set own_files = "record_system in ('run_json', 'sagemaker', 'vertex')" %}

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

-- another system records a node whenever it is asked: first without an end, then with it
recorded_nodes as (
    select
        training_run_id,
        is_ambiguous,
        is_managed_job,
        system_rank,
        resource_id,
        accelerator_type,
        chips,
        node_count,
        started_at,
        coalesce(max(case when ended_at < {{ never }} then ended_at end), {{ never }}) as ended_at
    from stated_nodes
    group by
        training_run_id, is_ambiguous, is_managed_job, system_rank, record_system, resource_id, accelerator_type, chips,
        node_count, started_at, case when record_system = 'run_json' then ended_at end
),

first_systems as (
    select training_run_id, min(system_rank) as system_rank
    from recorded_nodes
    group by all
)

select distinct
    training_run_id,
    nodes.is_ambiguous,
    nodes.is_managed_job,
    nodes.resource_id,
    accelerator_type,
    nodes.chips as recorded_chips,
    nodes.node_count,
    -- a managed job has its machines to itself, and its record states how large they are
    coalesce(case when nodes.is_managed_job then nodes.chips end, types.chips_per_node) as chips_per_node,
    -- null chips: the whole node
    coalesce(nodes.chips, types.chips_per_node) * nodes.node_count as held_chips,
    nodes.started_at,
    nodes.ended_at
from recorded_nodes as nodes
inner join first_systems using (training_run_id, system_rank)
left join {{ ref('accelerator_types') }} as types using (accelerator_type)
where nodes.started_at is not null and nodes.ended_at > nodes.started_at

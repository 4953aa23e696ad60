with records as (
    select training_run_id, record_system, record_run_id, min(precedence) as precedence, bool_or(is_ambiguous) as is_ambiguous
    from {{ ref('int_run_records') }}
    group by all
),

recorded_nodes as (
    select
        records.training_run_id,
        records.is_ambiguous,
        record_system <> 'run_json' as is_managed_job,
        substr(records.precedence, 1, 1) as system_rank,
        nodes.resource_id,
        nodes.accelerator_type,
        nodes.chips,
        nodes.node_count,
        coalesce(nodes.started_at, attempts.started_at) as started_at,
        coalesce(nodes.ended_at, attempts.ended_at, timestamp '9999-01-01 00:00:00') as ended_at
    from {{ ref('stg_training_runs__nodes') }} as nodes
    inner join records using (record_system, record_run_id)
    left join {{ ref('stg_training_runs__attempts') }} as attempts
        using (record_system, source_name, source_object, record_run_id, attempt_id)
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

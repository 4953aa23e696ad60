with records as (
    select training_run_id, record_system, record_run_id, min(precedence) as precedence, bool_or(is_ambiguous) as is_ambiguous
    from {{ ref('int_run_records') }}
    group by training_run_id, record_system, record_run_id
),

nodes as (
    select
        records.training_run_id,
        records.is_ambiguous,
        records.record_system,
        records.precedence,
        nodes.resource_id,
        nodes.accelerator_type,
        nodes.chips,
        nodes.node_count,
        coalesce(nodes.started_at, attempts.started_at) as started_at,
        coalesce(nodes.ended_at, attempts.ended_at, timestamp '9999-01-01 00:00:00') as ended_at
    from {{ ref('stg_training_runs__nodes') }} as nodes
    inner join records on nodes.record_system = records.record_system and nodes.record_run_id = records.record_run_id
    left join {{ ref('stg_training_runs__attempts') }} as attempts
        on
            nodes.record_system = attempts.record_system
            and nodes.source_name = attempts.source_name
            and nodes.source_object = attempts.source_object
            and nodes.record_run_id = attempts.record_run_id
            and nodes.attempt_id = attempts.attempt_id
),

speaking as (
    select training_run_id, min(substr(precedence, 1, 1)) as system_rank
    from nodes
    group by training_run_id
)

select distinct
    nodes.training_run_id,
    nodes.is_ambiguous,
    nodes.record_system <> 'run_json' as is_managed_job,
    nodes.resource_id,
    nodes.accelerator_type,
    nodes.chips as recorded_chips,
    nodes.node_count,
    -- a managed job has its machines to itself, and its record says how large they are
    case when nodes.record_system <> 'run_json' then coalesce(nodes.chips, types.chips_per_node) else types.chips_per_node end as chips_per_node,
    -- null chips: the whole node
    coalesce(nodes.chips, types.chips_per_node) * nodes.node_count as held_chips,
    nodes.started_at,
    nodes.ended_at
from nodes
inner join speaking on nodes.training_run_id = speaking.training_run_id and substr(nodes.precedence, 1, 1) = speaking.system_rank
left join {{ ref('accelerator_types') }} as types on nodes.accelerator_type = types.accelerator_type
where nodes.started_at is not null and nodes.ended_at > nodes.started_at

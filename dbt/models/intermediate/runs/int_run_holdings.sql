with records as (
    select training_run_id, record_system, record_run_id, min(precedence) as precedence, bool_or(is_ambiguous) as is_ambiguous
    from {{ ref('int_run_records') }}
    group by training_run_id, record_system, record_run_id
),

recorded_nodes as (
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
    inner join records using (record_system, record_run_id)
    left join {{ ref('stg_training_runs__attempts') }} as attempts
        using (record_system, source_name, source_object, record_run_id, attempt_id)
),

first_systems as (
    select training_run_id, min(substr(precedence, 1, 1)) as system_rank
    from recorded_nodes
    group by training_run_id
)

select distinct
    recorded_nodes.training_run_id,
    recorded_nodes.is_ambiguous,
    recorded_nodes.record_system <> 'run_json' as is_managed_job,
    recorded_nodes.resource_id,
    recorded_nodes.accelerator_type,
    recorded_nodes.chips as recorded_chips,
    recorded_nodes.node_count,
    -- a managed job has its machines to itself, and its record states how large they are
    case
        when recorded_nodes.record_system <> 'run_json' then coalesce(recorded_nodes.chips, types.chips_per_node)
        else types.chips_per_node
    end as chips_per_node,
    -- null chips: the whole node
    coalesce(recorded_nodes.chips, types.chips_per_node) * recorded_nodes.node_count as held_chips,
    recorded_nodes.started_at,
    recorded_nodes.ended_at
from recorded_nodes
inner join
    first_systems
    on
        recorded_nodes.training_run_id = first_systems.training_run_id
        and substr(recorded_nodes.precedence, 1, 1) = first_systems.system_rank
left join {{ ref('accelerator_types') }} as types using (accelerator_type)
where recorded_nodes.started_at is not null and recorded_nodes.ended_at > recorded_nodes.started_at

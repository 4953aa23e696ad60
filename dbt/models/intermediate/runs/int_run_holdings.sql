with first_systems as (
    select training_run_id, min(system_rank) as system_rank
    from {{ ref('int_recorded_nodes') }}
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
from {{ ref('int_recorded_nodes') }} as nodes
inner join first_systems using (training_run_id, system_rank)
left join {{ ref('accelerator_types') }} as types using (accelerator_type)
where nodes.started_at is not null and nodes.ended_at > nodes.started_at

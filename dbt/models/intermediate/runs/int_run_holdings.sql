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
    -- of a part of a chip the chip that it is of
    cast(ceil(nodes.chips) as bigint) as recorded_chips,
    nodes.node_count,
    -- a managed job has its machines to itself, and its record states how large they are
    coalesce(case when nodes.is_managed_job then cast(ceil(nodes.chips) as bigint) end, types.chips_per_node) as chips_per_node,
    -- null chips: the whole node
    cast(coalesce(nodes.chips, types.chips_per_node) * nodes.node_count as decimal(18, 6)) as held_chips,
    nodes.started_at,
    nodes.ended_at
from {{ ref('int_recorded_nodes') }} as nodes
inner join first_systems using (training_run_id, system_rank)
left join {{ ref('accelerator_types') }} as types using (accelerator_type)
where nodes.started_at is not null and nodes.ended_at > nodes.started_at

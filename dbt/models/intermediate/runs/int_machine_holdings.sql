{{ config(materialized='view') }}

select
    usage_month,
    training_run_id,
    is_ambiguous,
    is_managed_job,
    resource_id,
    accelerator_type,
    recorded_chips,
    node_count,
    machine_chips,
    held_chips,
    held_from,
    held_to,
    node_chips
from {{ ref('int_month_holdings') }}

union all

select
    tagged.usage_month,
    tagged.training_run_id,
    false as is_ambiguous,
    false as is_managed_job,
    tagged.resource_id,
    tagged.accelerator_type,
    cast(null as bigint) as recorded_chips,
    cast(1 as bigint) as node_count,
    -- of a part of a chip the chip that it is of
    least(types.chips_per_node, cast(ceil(tagged.held_chips) as bigint)) as machine_chips,
    tagged.held_chips,
    tagged.held_from,
    tagged.held_to,
    -- what tags hold together is all that is known of a machine
    cast(null as bigint) as node_chips
from {{ ref('int_tag_holdings') }} as tagged
left join {{ ref('accelerator_types') }} as types using (accelerator_type)

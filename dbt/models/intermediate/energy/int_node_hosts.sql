{{ config(materialized='by_month', meta={'days': 'usage_day'}) }}

with hosts as (
    select
        usage_month,
        resource_id,
        host_key,
        count(distinct case when is_present then device_id end) as present_chips,
        count(distinct case when is_measured then device_id end) as measured_chips
    from {{ ref('int_node_chips') }}
    group by all
),

host_days as (
    select distinct usage_month, usage_day, resource_id, host_key
    from {{ ref('int_node_chips') }}
),

nodes as (
    select
        usage_month,
        resource_id,
        coalesce(max(machine_chips), 0) as machine_chips,
        coalesce(max(node_chips), 0) as node_chips,
        -- of these up to eight chips are one machine, of the others a machine has the chips of its type
        bool_or(coalesce(accelerator_type in ('v5e', 'v6e'), false)) and max(node_chips) <= 8 as is_one_machine
    from {{ ref('int_node_spans') }}
    group by all
)

select
    hosts.*,
    host_days.usage_day,
    case
        when hosts.host_key <> hosts.resource_id || '|1'
            then greatest(nodes.machine_chips, hosts.present_chips, hosts.measured_chips)
        else nodes.node_chips
    end as host_chips,
    -- of a slice under one name a sign of life is of one of its machines, which number their chips one after the other
    case
        when hosts.host_key = hosts.resource_id || '|1' and nodes.machine_chips > 0 and not nodes.is_one_machine
            then least(nodes.machine_chips, nodes.node_chips)
    end as living_chips
from hosts
inner join host_days using (usage_month, resource_id, host_key)
inner join nodes using (usage_month, resource_id)

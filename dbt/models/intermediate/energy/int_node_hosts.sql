{{ config(materialized='by_month') }}

with hosts as (
    select
        usage_month,
        resource_id,
        {{ host_of_device() }} as host_key,
        count(distinct case when is_present then device_id end) as present_chips,
        count(distinct case when is_measured then device_id end) as measured_chips
    from {{ ref('int_node_samples') }}
    group by all
),

nodes as (
    select usage_month, resource_id, coalesce(max(machine_chips), 0) as machine_chips, coalesce(max(node_chips), 0) as node_chips
    from {{ ref('int_node_spans') }}
    group by all
)

select
    hosts.*,
    case
        when hosts.host_key <> hosts.resource_id || '|1'
            then greatest(nodes.machine_chips, hosts.present_chips, hosts.measured_chips)
        else nodes.node_chips
    end as host_chips
from hosts
inner join nodes using (usage_month, resource_id)

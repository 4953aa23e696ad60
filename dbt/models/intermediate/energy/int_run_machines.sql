with hosts as (
    select
        usage_month,
        training_run_id,
        resource_id,
        {{ host_of_device() }} as host_key,
        count(distinct case when is_present then device_id end) as present_chips,
        count(distinct case when is_measured then device_id end) as measured_chips
    from {{ ref('int_run_samples') }}
    group by all
)

select
    hosts.*,
    case
        when hosts.host_key <> hosts.resource_id || '|1'
            then greatest(coalesce(max(spans.machine_chips), 0), max(hosts.present_chips), max(hosts.measured_chips))
        else max(greatest(coalesce(spans.node_chips, 0), coalesce(spans.span_chips, 0)))
    end as host_chips
from hosts
inner join {{ ref('int_run_node_shares') }} as spans using (usage_month, training_run_id, resource_id)
group by
    hosts.usage_month, hosts.training_run_id, hosts.resource_id, hosts.host_key, hosts.present_chips, hosts.measured_chips

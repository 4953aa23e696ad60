{{ config(materialized='by_month', meta={'empty_without': ['int_device_times'], 'by_day': 'usage_day'}) }}
{%- set node = 'usage_month, usage_day, resource_id' %}
{%- set span = node ~ ', span_from_us' %}

with span_hosts as (
    select {{ span }}, host_key, count(distinct device_id) as device_count, count(owner_run_id) as owner_count
    from {{ ref('int_device_times') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
    group by all
)

select {{ span }}
from span_hosts
inner join {{ ref('int_node_times') }} as times using ({{ span }})
inner join {{ ref('int_node_hosts') }} as hosts using ({{ node }}, host_key)
group by {{ span }}
having
    not bool_or(times.is_tpu)
    and sum(span_hosts.owner_count) = 0
    and sum(span_hosts.device_count) <= max(case when times.held_chips = 0 then times.node_chips else times.held_chips end)
    and bool_and(span_hosts.device_count <= hosts.host_chips)

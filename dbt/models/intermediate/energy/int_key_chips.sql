{{ config(materialized='by_month', meta={'empty_without': ['int_node_chips'], 'days': 'usage_day'}) }}

with views as (
    select
        usage_month,
        resource_id,
        keyed_run_id,
        greatest(
            count(distinct case when is_measured then device_id end), count(distinct case when is_present then device_id end)
        ) as chips
    from {{ ref('int_node_chips') }}
    where keyed_run_id is not null
    group by all
),

days as (
    select distinct usage_month, usage_day, resource_id, keyed_run_id
    from {{ ref('int_node_chips') }}
)

select
    usage_month,
    days.usage_day,
    resource_id,
    keyed_run_id,
    views.chips
from days
inner join views using (usage_month, resource_id, keyed_run_id)

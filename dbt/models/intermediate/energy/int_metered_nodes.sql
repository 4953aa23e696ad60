{{ config(materialized='by_month') }}

with stretches as (
    select
        usage_month,
        resource_id,
        from_us,
        to_us,
        case
            when lag(to_us) over (partition by usage_month, resource_id order by from_us) = from_us then 0
            else 1
        end as is_first
    from {{ ref('int_node_power') }}
),

numbered as (
    select
        *,
        sum(is_first) over (
            partition by usage_month, resource_id order by from_us rows between unbounded preceding and current row
        ) as stretch
    from stretches
)

select
    usage_month,
    resource_id,
    min(from_us) as metered_from_us,
    max(to_us) as metered_to_us
from numbered
group by usage_month, resource_id, stretch

{{ config(materialized='by_month') }}

with months as (
    select usage_month, cast(usage_month as timestamp) as month_from, cast(usage_month as timestamp) + interval 1 month as month_to
    from ({{ months_to_build() }}) as months_to_build
),

holdings as (
    select
        months.usage_month,
        holdings.*,
        greatest(holdings.started_at, months.month_from) as held_from,
        least(holdings.ended_at, months.month_to) as held_to,
        -- a managed job's machines of several kinds share its one name, so their chips add up
        case
            when holdings.is_managed_job
                then cast(sum(holdings.held_chips) over (
                    partition by
                        months.usage_month, holdings.training_run_id, holdings.resource_id, holdings.started_at, holdings.ended_at
                ) as bigint)
            else holdings.held_chips
        end as record_chips,
        holdings.chips_per_node * holdings.node_count as type_chips
    from {{ ref('int_run_holdings') }} as holdings
    inner join months on holdings.started_at < months.month_to and holdings.ended_at > months.month_from
)

select
    usage_month,
    training_run_id,
    is_ambiguous,
    is_managed_job,
    resource_id,
    accelerator_type,
    recorded_chips,
    node_count,
    chips_per_node,
    held_chips,
    held_from,
    held_to,
    ended_at = timestamp '9999-01-01 00:00:00' as is_open,
    -- a node has the chips of its type, or the most that one record held there in the month
    cast(greatest(
        max(coalesce(type_chips, record_chips)) over (partition by usage_month, resource_id),
        max(coalesce(record_chips, type_chips)) over (partition by usage_month, resource_id)
    ) as bigint) as node_chips
from holdings

{{ config(materialized='by_month') }}

with months as (
    select
        usage_month,
        cast(usage_month as timestamp) as month_from,
        cast(usage_month as timestamp) + interval 1 month as month_to
    from ({{ months_to_build() }}) as months_to_build
),

timed_holdings as (
    select
        months.usage_month,
        months.month_to,
        holdings.*,
        greatest(holdings.started_at, months.month_from) as held_from,
        least(holdings.ended_at, months.month_to) as held_to
    from {{ ref('int_run_holdings') }} as holdings
    inner join months on holdings.started_at < months.month_to and holdings.ended_at > months.month_from
    where holdings.ended_at < timestamp '9999-01-01 00:00:00'

    union all

    -- an end that no record states is decided inside each month
    select
        months.usage_month,
        months.month_to,
        holdings.*,
        open_ends.held_from,
        open_ends.held_to
    from {{ ref('int_run_holdings') }} as holdings
    inner join {{ ref('int_open_ends') }} as open_ends
        on
            holdings.training_run_id = open_ends.training_run_id
            and coalesce(holdings.resource_id, '') = open_ends.resource_id
            and holdings.started_at = open_ends.started_at
    inner join months on open_ends.usage_month = months.usage_month
    where holdings.ended_at = timestamp '9999-01-01 00:00:00'
),

holdings as (
    select
        *,
        -- a managed job's machines of several kinds share its one name, so their chips add up
        cast(ceil(case
            when is_managed_job
                then sum(held_chips) over (partition by usage_month, training_run_id, resource_id, started_at, ended_at)
            else held_chips
        end) as bigint) as record_chips,
        chips_per_node * node_count as catalogue_chips
    from timed_holdings
),

holdings_with_neighbours as (
    select
        *,
        coalesce(
            max(coalesce(held_to, month_to)) over (
                partition by usage_month, resource_id order by held_from, held_to, training_run_id
                rows between unbounded preceding and 1 preceding
            ) > held_from,
            false
        ) as is_beside_another
    from holdings
),

-- of machines that are sold in sizes, the record of one who had the machine alone shows the size where the bill does not
sole_holders as (
    select usage_month, resource_id, max(recorded_chips) as node_chips
    from holdings_with_neighbours
    where resource_id is not null
    group by all
    having
        not bool_or(is_beside_another or is_managed_job or held_to is null)
        and bool_and(coalesce(accelerator_type in ('v5e', 'v6e'), false))
        and count(*) = count(recorded_chips)
        -- a part of a chip is of a machine that others may have parts of
        and bool_and(held_chips >= recorded_chips)
        and max(recorded_chips) between 1 and 8
),

holdings_with_size as (
    select
        holdings.*,
        case when not holdings.is_managed_job then coalesce(sizes.node_chips, sole_holders.node_chips) end as inferred_chips
    from holdings
    left join {{ ref('int_node_sizes') }} as sizes using (usage_month, resource_id)
    left join sole_holders using (usage_month, resource_id)
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
    coalesce(inferred_chips, catalogue_chips) as type_chips,
    -- of a host under this name as many as its type has, unless the machine is smaller
    coalesce(case when inferred_chips < chips_per_node then inferred_chips end, chips_per_node, inferred_chips) as machine_chips,
    cast(case when recorded_chips is null then coalesce(inferred_chips, held_chips) else held_chips end as decimal(18, 6))
        as held_chips,
    held_from,
    held_to,
    inferred_chips is not null as is_size_inferred,
    -- else a node has the chips of its type, or the most that one record held there in the month
    coalesce(inferred_chips, cast(greatest(
        max(coalesce(catalogue_chips, record_chips)) over (partition by usage_month, resource_id),
        max(coalesce(record_chips, catalogue_chips)) over (partition by usage_month, resource_id)
    ) as bigint)) as node_chips
from holdings_with_size

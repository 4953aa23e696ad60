{{ config(materialized='by_month', meta={'days': 'usage_day'}) }}

with month_holdings as (
    select
        *,
        {{ instant_us('held_from') }} as held_from_us,
        {{ instant_us('held_to') }} as held_to_us,
        -- a row for each day, by which a slice finds its holders: a machine may be held a thousand times in a month
        {{ each_day('held_from', 'held_to') }} as held_day
    from {{ ref('int_machine_holdings') }}
    where held_from <= held_to
),

-- once the bill of a month is final, a machine was held for no longer than it was billed
slices as (
    select
        usage_month,
        resource_id,
        slice_from,
        {{ day_of('slice_from') }} as slice_day,
        slice_to,
        case when is_final then billed_to else slice_to end as counted_to
    from {{ ref('int_held_slices') }}
),

held_spans as (
    select
        usage_month,
        slices.slice_day as usage_day,
        resource_id,
        slices.slice_from as span_from_us,
        slices.counted_to as span_to_us,
        month_holdings.training_run_id,
        bool_or(month_holdings.is_ambiguous) as is_ambiguous,
        -- chips of two types under one name have no common power
        case
            when min(month_holdings.accelerator_type) = max(month_holdings.accelerator_type)
                then min(month_holdings.accelerator_type)
        end as accelerator_type,
        max(month_holdings.machine_chips) as machine_chips,
        max(month_holdings.node_chips) as node_chips,
        -- half a number of chips is not a number of chips
        case when count(*) = count(month_holdings.held_chips) then cast(sum(month_holdings.held_chips) as decimal(18, 6)) end
            as run_chips
    from slices
    inner join month_holdings using (usage_month, resource_id)
    where
        month_holdings.held_day = slices.slice_day
        and month_holdings.held_from_us <= slices.slice_from
        and month_holdings.held_to_us >= slices.slice_to
        and slices.counted_to > slices.slice_from
    group by all
)

select
    usage_month,
    usage_day,
    resource_id,
    span_from_us,
    span_to_us,
    training_run_id,
    is_ambiguous,
    accelerator_type,
    machine_chips,
    -- a machine that only tags hold has the chips that they hold together
    coalesce(node_chips, cast(ceil(sum(run_chips) over (partition by usage_month, resource_id, span_from_us)) as bigint))
        as node_chips,
    run_chips,
    cast(sum(coalesce(run_chips, node_chips)) over (partition by usage_month, resource_id, span_from_us) as decimal(18, 6))
        as span_chips,
    cast(count(*) over (partition by usage_month, resource_id, span_from_us) as bigint) as holder_count
from held_spans

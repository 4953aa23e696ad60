{{ config(materialized='by_month') }}

with charges as (
    select
        *,
        -- evidence of a month is of that month: a row that reaches beyond it is shared by what was held until then
        least(charge_period_end, cast(usage_month as timestamp) + interval 1 month) as period_end
    from {{ ref('int_named_charges') }}
    where
        {{ in_build_months() }}
        and (is_usage or is_discount)
        and not is_job_name
        and not is_twin
        -- what the cluster states that no pod asked for is no run's
        and gke_allocation not in ('unallocated', 'overhead')
),

all_holdings as (
    select
        charges.line_id,
        charges.breadth,
        min(charges.breadth) over (partition by charges.line_id) as least_breadth,
        charges.usage_month,
        charges.charge_period_start,
        charges.period_end,
        charges.billed_us,
        holdings.training_run_id,
        coalesce(holdings.type_chips, line_types.chips_per_node * holdings.node_count) as node_chips,
        coalesce(holdings.held_chips, coalesce(holdings.recorded_chips, line_types.chips_per_node) * holdings.node_count)
            as held_chips,
        greatest(holdings.held_from, charges.charge_period_start) as held_from,
        least(holdings.held_to, charges.period_end) as held_to
    from charges
    -- a run with an ambiguous id holds its chips too; its share stays residual (int_cell_parts)
    inner join {{ ref('int_month_holdings') }} as holdings
        on
            charges.usage_month = holdings.usage_month
            and charges.held_resource_id = holdings.resource_id
            and holdings.held_from < charges.period_end
            and holdings.held_to > charges.charge_period_start
    left join {{ ref('accelerator_types') }} as line_types on charges.instance_type = line_types.accelerator_type
),

-- who held the machine itself goes before who held its pool, its reservation or its cluster
charge_holdings as (
    select * from all_holdings
    where breadth = least_breadth
),

slices as (
    {{ slices('charge_holdings', 'line_id', 'held_from', 'held_to') }}
),

held_slices as (
    select
        line_id,
        slices.slice_from,
        {{ microseconds('slices.slice_from', 'slices.slice_to') }} as slice_us,
        charge_holdings.training_run_id,
        sum(cast(coalesce(charge_holdings.held_chips, 1) as decimal(38, 0))) as run_chips,
        max(cast(coalesce(charge_holdings.node_chips, 0) as decimal(38, 0))) as node_chips
    from slices
    inner join charge_holdings using (line_id)
    where charge_holdings.held_from <= slices.slice_from and charge_holdings.held_to >= slices.slice_to
    group by all
),

shared_slices as (
    select
        *,
        -- free chips beside a run are idle, and an oversubscribed node still adds up to one
        greatest(
            max(node_chips) over (partition by line_id, slice_from),
            cast(sum(run_chips) over (partition by line_id, slice_from) as decimal(38, 0))
        ) as chip_denominator
    from held_slices
),

line_denominators as (
    select line_id, {{ product_of_distinct('chip_denominator') }} as line_denominator
    from shared_slices
    group by all
),

run_weights as (
    select
        line_id,
        shared_slices.training_run_id as part_id,
        max(line_denominators.line_denominator) as line_denominator,
        cast(sum(
            cast(shared_slices.slice_us * shared_slices.run_chips as decimal(38, 0))
            * {{ int_div('line_denominators.line_denominator', 'shared_slices.chip_denominator') }}
        ) as decimal(38, 0)) as w
    from shared_slices
    inner join line_denominators using (line_id)
    group by all
),

charge_times as (
    select
        line_id,
        max(usage_month) as usage_month,
        max(breadth) = 3 as is_of_cluster,
        coalesce(max(billed_us), max({{ microseconds('charge_period_start', 'period_end') }})) as billed_us
    from charge_holdings
    group by all
)

select charge_times.usage_month, line_id, run_weights.part_id, charge_times.is_of_cluster, run_weights.w
from run_weights
inner join charge_times using (line_id)
union all
select
    charge_times.usage_month,
    line_id,
    '~residual' as part_id,
    charge_times.is_of_cluster,
    cast(
        greatest(max(cast(charge_times.billed_us * run_weights.line_denominator as decimal(38, 0))) - sum(run_weights.w), 0)
        as decimal(38, 0)
    ) as w
from run_weights
inner join charge_times using (line_id)
group by all

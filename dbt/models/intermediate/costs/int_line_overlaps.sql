{{ config(materialized='by_month', meta={'empty_without': ['int_named_charges']}) }}
{#- weights of a line add up to less than this: what exact_split can multiply with money and divide by -#}
{%- set most = 'cast(10000000000000000000000000 as decimal(38, 0))' %}
{#- two numbers below this multiply to less -#}
{%- set room = 'cast(1000000000000 as decimal(38, 0))' %}
{%- set million = 'cast(1000000 as decimal(38, 0))' %}

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
        and pod_allocation not in ('unallocated', 'overhead')
),

-- a holding that no other holding of its machine reaches into: the holdings of a run that takes its machines again and again
holdings as (
    select
        usage_month,
        resource_id,
        training_run_id,
        type_chips,
        recorded_chips,
        held_chips,
        node_count,
        held_from,
        held_to,
        coalesce(
            max(held_to) over (
                partition by usage_month, resource_id order by held_from, held_to rows between unbounded preceding and 1 preceding
            ) <= held_from,
            true
        )
        and coalesce(
            lead(held_from) over (partition by usage_month, resource_id order by held_from, held_to) >= held_to, true
        ) as is_alone
    from {{ ref('int_month_holdings') }}
    where resource_id is not null and held_to is not null
),

-- a row for each day, by which charge and holding find each other: a machine may be held a thousand times in a month
holding_days as (
    select *, {{ each_day('held_from', 'held_to') }} as held_day from holdings
    where held_from <= held_to
),

charge_days as (
    select *, {{ each_day('charge_period_start', 'period_end') }} as charge_day from charges
    where charge_period_start < period_end
),

all_holdings as (
    select
        charges.line_id,
        charges.breadth,
        charges.usage_month,
        charges.charge_period_start,
        charges.period_end,
        -- of a cluster of HyperPod the time of its machines counts, of which a row has any number: what is held of it is chips
        -- over the chips of one machine, as many machines as that may be
        coalesce(charges.cluster_us, charges.billed_us) as billed_us,
        charges.cluster_us is not null as is_of_machines,
        holdings.resource_id,
        holdings.training_run_id,
        holdings.is_alone,
        case
            when charges.cluster_us is not null then line_types.chips_per_node
            else coalesce(holdings.type_chips, line_types.chips_per_node * holdings.node_count)
        end as node_chips,
        coalesce(holdings.held_chips, coalesce(holdings.recorded_chips, line_types.chips_per_node) * holdings.node_count)
            as held_chips,
        greatest(holdings.held_from, charges.charge_period_start) as held_from,
        least(holdings.held_to, charges.period_end) as held_to
    from charge_days as charges
    -- a run with an ambiguous id holds its chips too; its share stays residual (int_cell_parts)
    inner join holding_days as holdings
        on
            charges.usage_month = holdings.usage_month
            and charges.held_resource_id = holdings.resource_id
            and charges.charge_day = holdings.held_day
            and holdings.held_from < charges.period_end
            and holdings.held_to > charges.charge_period_start
    left join {{ ref('accelerator_types') }} as line_types on charges.instance_type = line_types.accelerator_type
    -- both touch the day on which the later of them begins
    where charges.charge_day = cast(greatest(holdings.held_from, charges.charge_period_start) as date)
),

-- at least what was billed, and what can be held of it
charge_times as (
    select
        line_id,
        max(usage_month) as usage_month,
        min(breadth) as breadth,
        bool_or(is_of_machines) as is_of_machines,
        coalesce(max(billed_us), max({{ microseconds('charge_period_start', 'period_end') }})) as billed_us,
        greatest(
            coalesce(max(billed_us), 1), max({{ microseconds('charge_period_start', 'period_end') }}), cast(1 as decimal(38, 0)),
            coalesce(cast({{ sum_of_bigints(
                'case when is_of_machines then (' ~ instant_us('held_to') ~ ' - ' ~ instant_us('held_from')
                ~ ') * cast(ceil(coalesce(held_chips, 1)) as bigint) end'
            ) }} as decimal(38, 0)), 0)
        ) as most_us,
        min(training_run_id) as holder,
        bool_and(is_alone)
        and min(breadth) = max(breadth)
        and min(resource_id) = max(resource_id)
        and min(training_run_id) = max(training_run_id)
        and min(coalesce(held_chips, 1)) = max(coalesce(held_chips, 1))
        and min(coalesce(node_chips, 0)) = max(coalesce(node_chips, 0))
        and min({{ instant_us('held_to') }} - {{ instant_us('held_from') }}) > 0 as has_one_holder,
        {{ millionths('max(coalesce(held_chips, 1))') }} as run_parts,
        {{ millionths('max(coalesce(node_chips, 0))') }} as node_parts,
        cast({{ sum_of_bigints(instant_us('held_to') ~ ' - ' ~ instant_us('held_from')) }} as decimal(38, 0)) as held_us
    from all_holdings
    group by line_id
),

-- where one run has as many chips all the time that it holds a machine, each instant weighs the same
lines_of_one as (
    select
        *,
        case
            when {{ int_mod('run_parts', million) }} = 0 then {{ int_div('run_parts', million) }}
            else run_parts
        end as run_chips,
        case
            when {{ int_mod('run_parts', million) }} = 0 then {{ int_div('all_parts', million) }}
            else all_parts
        end as chip_denominator
    from (
        select
            *,
            case when is_of_machines then node_parts else greatest(node_parts, run_parts, {{ million }}) end as all_parts
        from charge_times
        where has_one_holder
    ) as charge_times
),

weights_of_one as (
    select
        usage_month,
        line_id,
        holder,
        breadth,
        cast(held_us * run_chips as decimal(38, 0)) as w,
        cast(billed_us * chip_denominator as decimal(38, 0)) as all_w
    from lines_of_one
    where chip_denominator < {{ room }} and run_chips < {{ room }} and most_us < {{ room }}
),

-- who held the machine itself goes before who held its pool, its reservation or its cluster
charge_holdings as (
    select all_holdings.*
    from all_holdings
    inner join charge_times using (line_id)
    left join weights_of_one using (line_id)
    where all_holdings.breadth = charge_times.breadth and weights_of_one.line_id is null
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
        cast(sum({{ millionths('coalesce(charge_holdings.held_chips, 1)') }}) as decimal(38, 0)) as run_parts,
        max({{ millionths('coalesce(charge_holdings.node_chips, 0)') }}) as node_parts,
        bool_or(charge_holdings.is_of_machines) as is_of_machines
    from slices
    inner join charge_holdings using (line_id)
    where charge_holdings.held_from <= slices.slice_from and charge_holdings.held_to >= slices.slice_to
    group by all
),

slice_parts as (
    select
        *,
        -- free chips beside a run are idle, and an oversubscribed node still adds up to one
        case when is_of_machines then max(node_parts) over (partition by line_id, slice_from) else greatest(
            max(node_parts) over (partition by line_id, slice_from),
            cast(sum(run_parts) over (partition by line_id, slice_from) as decimal(38, 0)),
            cast(1000000 as decimal(38, 0))
        ) end as all_parts,
        bool_and({{ int_mod('run_parts', million) }} = 0) over (partition by line_id, slice_from) as is_of_whole_chips
    from held_slices
),

-- in millionths of a chip where some run has a part of one
shared_slices as (
    select
        line_id,
        slice_from,
        slice_us,
        training_run_id,
        case when is_of_whole_chips then {{ int_div('run_parts', million) }} else run_parts end as run_chips,
        case when is_of_whole_chips then {{ int_div('all_parts', million) }} else all_parts end as chip_denominator
    from slice_parts
),

-- one denominator for all instants of a line. Where that has no room, as where a machine is handed on all month among runs of
-- 7, 11, 13 ... chips, it is the greatest that has, and weights are cut to whole numbers
denominators as (
    select
        line_id,
        {{ common_multiple('chip_denominator', most) }} as common_denominator,
        -- above a million chips in millionths the product of time, chips and denominator would have 39 digits
        greatest({{ int_div('max(run_chips)', 'cast(1000000000000 as decimal(38, 0))') }}, cast(1 as decimal(38, 0))) as too_many
    from shared_slices
    group by all
),

line_denominators as (
    select
        charge_times.*,
        least(
            denominators.common_denominator,
            {{ int_div(most, 'cast(charge_times.most_us * denominators.too_many as decimal(38, 0))') }}
        ) as line_denominator
    from denominators
    inner join charge_times using (line_id)
),

slice_weights as (
    select
        line_id,
        shared_slices.training_run_id as part_id,
        shared_slices.chip_denominator,
        line_denominators.line_denominator,
        cast(
            cast(shared_slices.slice_us * shared_slices.run_chips as decimal(38, 0)) * line_denominators.line_denominator
            as decimal(38, 0)
        ) as chip_weight
    from shared_slices
    inner join line_denominators using (line_id)
),

run_weights as (
    select
        line_id,
        part_id,
        cast(sum({{ int_div('chip_weight', 'chip_denominator') }}) as decimal(38, 0)) as w,
        -- what was cut off is nobody's idle time
        cast(sum(case when {{ int_mod('chip_weight', 'chip_denominator') }} > 0 then 1 else 0 end) as decimal(38, 0)) as cut_off
    from slice_weights
    group by all
)

select line_denominators.usage_month, line_id, run_weights.part_id, line_denominators.breadth = 3 as is_of_cluster, run_weights.w
from run_weights
inner join line_denominators using (line_id)

union all

select
    line_denominators.usage_month,
    line_id,
    '~residual' as part_id,
    line_denominators.breadth = 3 as is_of_cluster,
    cast(
        greatest(
            max(cast(line_denominators.billed_us * line_denominators.line_denominator as decimal(38, 0)))
            - sum(run_weights.w) - sum(run_weights.cut_off),
            0
        )
        as decimal(38, 0)
    ) as w
from run_weights
inner join line_denominators using (line_id)
group by all

union all

select usage_month, line_id, holder as part_id, breadth = 3 as is_of_cluster, w
from weights_of_one

union all

select
    usage_month, line_id, '~residual' as part_id, breadth = 3 as is_of_cluster,
    cast(greatest(all_w - w, 0) as decimal(38, 0)) as w
from weights_of_one

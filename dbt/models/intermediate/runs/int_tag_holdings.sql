{{ config(materialized='by_month', meta={'empty_without': ['int_line_attributions']}) }}
{%- set holding = 'usage_month, training_run_id, resource_id, region_id, accelerator_type, is_machine, unit_chips' %}

with held as (
    select distinct usage_month, training_run_id
    from {{ ref('int_month_holdings') }}
    where {{ in_build_months() }}
),

-- of runs of which no record names a machine in the month: their tag on a line of use is all that is known of what they held
tagged_lines as (
    select
        charges.*,
        attributions.training_run_id,
        -- pods of a run on one machine hold the chips of them together
        sum(charges.chip_share) over (
            partition by attributions.usage_month, attributions.training_run_id, charges.bill_line_id
        ) as run_share,
        row_number() over (
            partition by attributions.usage_month, attributions.training_run_id, charges.bill_line_id
            order by charges.part_number, charges.line_id
        ) as part_of_run,
        least(charges.charge_period_end, cast(charges.usage_month as timestamp) + interval 1 month) as period_end
    from {{ ref('int_line_attributions') }} as attributions
    inner join {{ ref('int_charges') }} as charges using (usage_month, line_id)
    left join {{ ref('int_recorded_months') }} as recorded
        on attributions.usage_month = recorded.usage_month and attributions.training_run_id = recorded.training_run_id
    left join held
        on attributions.usage_month = held.usage_month and attributions.training_run_id = held.training_run_id
    where
        attributions.attribution_rule = 'tag'
        and not coalesce(recorded.names_machine, false)
        and held.training_run_id is null
        and charges.is_usage
        and charges.is_accelerator_type
        and {{ in_build_months('attributions.usage_month') }}
),

-- where a record of another run names the machine, it is one machine under that name
names as (
    select usage_month, line_id, min(held_resource_id) as held_resource_id
    from {{ ref('int_named_charges') }}
    where breadth = 0 and not is_job_name and not is_twin and {{ in_build_months() }}
    group by all
),

lines_with_chips as (
    select
        lines.usage_month,
        lines.training_run_id,
        -- a bill without names of machines still has their hours, account and region
        coalesce(names.held_resource_id, lines.resource_id, lines.sub_account_id || '/locations/' || lines.region_id || '/')
            as resource_id,
        lines.region_id,
        nullif(lines.instance_type, '') as accelerator_type,
        -- an instance is one machine; a managed job's row may have the hours of several
        chips.line_id is null and coalesce(lines.resource_id like 'i-%', false) as is_machine,
        lines.charge_period_start,
        lines.period_end,
        {{ microseconds('lines.charge_period_start', 'lines.period_end') }} as period_us,
        -- Google Cloud bills chips by the hour, AWS whole machines
        case
            when chips.line_id is not null then cast(1 as decimal(18, 6))
            -- a pod holds the accelerators that it asked for
            else cast(
                cast(types.chips_per_node as decimal(9, 0)) * cast(coalesce(lines.run_share, 1) as decimal(18, 9))
                as decimal(18, 6)
            )
        end as unit_chips,
        case
            when chips.line_id is not null and chips.pricing_unit in ('', 'h', 'hour', 'hours') then {{ int_div(
                'cast(' ~ to_units(
                    exact_multiple('chips.priced_usage', "case when chips.instance_type in ('v2', 'v3', 'v4') then 4 else 1 end", 12), 9
                ) ~ ' * 36 as decimal(38, 0))',
                'cast(10 as decimal(38, 0))'
            ) }}
            -- hours that a correction takes back were not held
            when chips.line_id is null and lines.weight < 0
                then -coalesce(lines.billed_us, {{ microseconds('lines.charge_period_start', 'lines.period_end') }})
            when chips.line_id is null
                then coalesce(lines.billed_us, {{ microseconds('lines.charge_period_start', 'lines.period_end') }})
        end as unit_us
    from tagged_lines as lines
    left join {{ built_months_of(ref('int_gcp_lines')) }} as chips using (usage_month, line_id)
    left join {{ ref('accelerator_types') }} as types on lines.instance_type = types.accelerator_type
    left join names using (usage_month, line_id)
    where
        lines.period_end > lines.charge_period_start
        and lines.part_of_run = 1
        and coalesce(lines.run_share, 1) > 0
),

-- one interval may be billed in several rows (a part under a commitment)
intervals as (
    select
        {{ holding }},
        charge_period_start,
        period_us,
        case when is_machine then least(sum(unit_us), period_us) else {{ whole_sum('unit_us', 'decimal(38, 0)') }} end as unit_us
    from lines_with_chips
    group by {{ holding }}, charge_period_start, period_us
),

-- as many at a time as the fullest interval shows; billed amounts are rounded, so a hundredth over a number is that number
counted_intervals as (
    select
        *,
        max(greatest(
            {{ int_div('cast(unit_us * 100 + 99 * period_us as decimal(38, 0))', 'cast(100 * period_us as decimal(38, 0))') }}, 1
        )) over (partition by {{ holding }}) as unit_count
    from intervals
    where unit_us is null or unit_us > 0
),

-- of an hour that is billed in part the first part
held_intervals as (
    select
        *,
        {{ instant_us('charge_period_start') }} as from_us,
        {{ instant_us('charge_period_start') }} + cast(
            case
                when unit_us is null then period_us
                else least(period_us, {{ int_div('cast(unit_us as decimal(38, 0))', 'cast(unit_count as decimal(38, 0))') }})
            end as bigint
        ) as to_us
    from counted_intervals
),

stretches as (
    select
        *,
        sum(case when reached_us = from_us then 0 else 1 end) over (
            partition by {{ holding }} order by from_us, to_us rows between unbounded preceding and current row
        ) as stretch
    from (
        select *, lag(to_us) over (partition by {{ holding }} order by from_us, to_us) as reached_us from held_intervals
    ) as intervals_with_last
)

select
    usage_month,
    training_run_id,
    resource_id,
    region_id,
    accelerator_type,
    -- half a number of chips is not a number of chips
    case when count(*) = count(unit_us) then cast(unit_chips * max(unit_count) as decimal(18, 6)) end as held_chips,
    {{ timestamp_of('min(from_us)') }} as held_from,
    {{ timestamp_of('max(to_us)') }} as held_to
from stretches
where to_us > from_us
group by {{ holding }}, stretch

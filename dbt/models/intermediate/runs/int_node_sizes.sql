{{ config(materialized='by_month', meta={'empty_without': ['int_named_charges']}) }}

with billed_intervals as (
    select
        usage_month,
        named.held_resource_id as resource_id,
        lines.charge_period_start,
        lines.charge_period_end,
        named.breadth > 0 as is_of_several,
        -- the first generations are priced by boards of four chips
        sum(
            {{ exact_multiple(
                'lines.priced_usage', "case when lines.instance_type in ('v2', 'v3', 'v4') then 4 else 1 end", 12
            ) }}
        ) as chip_hours
    from {{ ref('int_gcp_lines') }} as lines
    inner join {{ ref('int_named_charges') }} as named using (usage_month, line_id)
    where
        {{ in_build_months() }}
        and lines.is_usage
        -- also of a generation with an unreadable name: later ones than the boards' are priced by chips
        and (lines.instance_type <> '' or lines.is_unknown_tpu)
        and lines.fixed_reason is null
        and lines.pricing_unit in ('', 'h', 'hour', 'hours')
        and lines.charge_period_end > lines.charge_period_start
        and not named.is_job_name
        and not named.is_twin
    group by all
),

intervals_with_neighbours as (
    select
        *,
        lag(charge_period_end) over (partition by usage_month, resource_id order by charge_period_start) = charge_period_start
        and lead(charge_period_start) over (partition by usage_month, resource_id order by charge_period_start)
        = charge_period_end as is_between
    from billed_intervals
),

-- a machine that came or went within an hour is billed for a part of it: only a full interval shows how large it is
full_intervals as (
    select distinct
        intervals.usage_month,
        resource_id,
        intervals.is_of_several,
        {{ int_div(
            'cast(' ~ to_units('intervals.chip_hours', 9) ~ ' * 3600 as decimal(38, 0))',
            microseconds('intervals.charge_period_start', 'intervals.charge_period_end')
        ) }} as thousandths
    from intervals_with_neighbours as intervals
    left join {{ ref('int_run_holdings') }} as holdings
        using (resource_id)
    where
        intervals.is_between
        or (
            holdings.started_at <= intervals.charge_period_start
            and holdings.ended_at >= intervals.charge_period_end
            and holdings.ended_at < timestamp '9999-01-01 00:00:00'
        )
),

most_billed as (
    select usage_month, resource_id, bool_or(is_of_several) as is_of_several, max(thousandths) as thousandths
    from full_intervals
    where thousandths > 0
    group by all

    union all

    -- of a cluster of HyperPod as many machines as it was billed for at once
    select
        named.usage_month,
        named.held_resource_id as resource_id,
        true as is_of_several,
        max({{ int_div(
            'cast(named.cluster_us * types.chips_per_node * 1000 as decimal(38, 0))',
            microseconds('named.charge_period_start', 'named.charge_period_end')
        ) }}) as thousandths
    from {{ ref('int_named_charges') }} as named
    inner join {{ ref('accelerator_types') }} as types on named.instance_type = types.accelerator_type
    where
        {{ in_build_months('named.usage_month') }}
        and named.cluster_us > 0
        and not named.is_twin
        and {{ cluster_of_machines('named.held_resource_id') }} <> ''
    group by all
)

select
    usage_month,
    resource_id,
    -- billed amounts are rounded: a hundredth over a size is that size. More than 8 chips are a slice, and a pool has any number
    cast(case
        when is_of_several
            then greatest({{ int_div('cast(thousandths + 500 as decimal(38, 0))', 'cast(1000 as decimal(38, 0))') }}, 1)
        when thousandths <= 1010 then 1
        when thousandths <= 4040 then 4
        when thousandths <= 8080 then 8
        else {{ int_div('cast(thousandths + 500 as decimal(38, 0))', 'cast(1000 as decimal(38, 0))') }}
    end as bigint) as node_chips
from most_billed

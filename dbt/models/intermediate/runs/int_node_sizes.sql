{{ config(materialized='by_month') }}

with lines as (
    select * from {{ ref('int_gcp_lines') }}
    where
        {{ in_build_months() }}
        and is_usage
        and instance_type <> ''
        and fixed_reason is null
        and pricing_unit in ('', 'h', 'hour', 'hours')
),

named_lines as (
    select *, resource_id as name from lines
    union all
    select *, other_resource_id as name from lines
),

billed_intervals as (
    select
        usage_month,
        name as resource_id,
        charge_period_start,
        charge_period_end,
        -- the first generations are priced by boards of four chips
        sum(priced_usage * case when instance_type in ('v2', 'v3', 'v4') then 4 else 1 end) as chip_hours
    from named_lines
    where name is not null and charge_period_end > charge_period_start
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

-- a machine that came or went within an hour is billed for a part of it: only a full interval tells how large it is
full_intervals as (
    select distinct
        intervals.usage_month,
        resource_id,
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
    select usage_month, resource_id, max(thousandths) as thousandths
    from full_intervals
    where thousandths > 0
    group by all
)

select
    usage_month,
    resource_id,
    -- billed amounts are rounded: a hundredth over a size is that size. More than 8 chips are a slice
    cast(case
        when thousandths <= 1010 then 1
        when thousandths <= 4040 then 4
        when thousandths <= 8080 then 8
        else {{ int_div('cast(thousandths + 500 as decimal(38, 0))', 'cast(1000 as decimal(38, 0))') }}
    end as bigint) as node_chips
from most_billed

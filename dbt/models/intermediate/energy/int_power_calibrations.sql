{{ config(materialized='by_month') }}
{%- set key = 'accelerator_type, sdk_version, source_kind' %}

with months as (
    select usage_month from ({{ months_to_build() }}) as months_to_build
),

-- the months whose windows count for a month: itself and the twelve before, none that come later
months_in_reach as (
    {%- for n in range(13) %}
    select usage_month, cast(cast(usage_month as timestamp) - interval {{ n }} month as date) as measured_month from months
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
),

-- a month of many windows is counted by whole watts first: a thousand nodes have millions of windows, and hundreds of levels
levels_of_month as (
    select
        usage_month as measured_month,
        {{ key }},
        window_class,
        {{ int_div('cast(mean_uw + 500000 as decimal(38, 0))', 'cast(1000000 as decimal(38, 0))') }} as watts,
        count(*) as window_count,
        sum(metered_us) as metered_us,
        sum(metered_uw_us) as metered_uw_us,
        max(unmetered_share) as unmetered_share,
        min(window_from_us) as first_us,
        max(window_to_us) as last_us
    from {{ ref('int_power_windows') }}
    group by all
),

hosts_of_month as (
    select distinct usage_month as measured_month, {{ key }}, host from {{ ref('int_power_windows') }}
),

levels as (
    select
        months_in_reach.usage_month,
        {{ key }},
        levels.window_class,
        levels.watts,
        cast(sum(levels.window_count) as decimal(38, 0)) as window_count,
        cast(sum(levels.metered_us) as decimal(38, 0)) as metered_us,
        cast(sum(levels.metered_uw_us) as decimal(38, 0)) as metered_uw_us,
        max(levels.unmetered_share) as unmetered_share,
        min(levels.first_us) as first_us,
        max(levels.last_us) as last_us
    from months_in_reach
    inner join levels_of_month as levels using (measured_month)
    group by all
),

hosts as (
    select months_in_reach.usage_month, {{ key }}, count(distinct hosts.host) as host_count
    from months_in_reach
    inner join hosts_of_month as hosts using (measured_month)
    group by all
),

totals as (
    select
        usage_month,
        {{ key }},
        cast(sum(window_count) as decimal(38, 0)) as window_count,
        max(unmetered_share) as unmetered_share,
        min(first_us) as first_us,
        max(last_us) as last_us,
        cast(sum(metered_us) as decimal(38, 0)) as metered_us,
        cast(sum(metered_uw_us) as decimal(38, 0)) as metered_uw_us
        {%- for class in ['idle', 'busy'] %},
        cast(sum(case when window_class = '{{ class }}' then metered_us else 0 end) as decimal(38, 0)) as {{ class }}_us,
        cast(sum(case when window_class = '{{ class }}' then metered_uw_us else 0 end) as decimal(38, 0)) as {{ class }}_uw_us
        {%- endfor %}
    from levels
    group by all
),

-- full power is what busy windows drew; where no window is known to be busy, what nine of ten windows did not exceed
spread_levels as (
    select
        usage_month,
        {{ key }},
        levels.watts,
        cast(sum(levels.window_count) as decimal(38, 0)) as window_count,
        {{ int_div('cast(sum(levels.metered_uw_us) as decimal(38, 0))', 'cast(sum(levels.metered_us) as decimal(38, 0))') }}
            as mean_uw
    from levels
    inner join totals using (usage_month, {{ key }})
    where levels.window_class = 'busy' or totals.busy_us = 0
    group by all
),

placed_levels as (
    select
        *,
        sum(window_count) over (partition by usage_month, {{ key }} order by watts) as reached,
        sum(window_count) over (partition by usage_month, {{ key }}) as total
    from spread_levels
),

-- the window at the tenth and the ninetieth of a hundred places, by its watts
deciles as (
    select
        usage_month,
        {{ key }},
        max(case when 10 * reached >= total and 10 * (reached - window_count) < total then mean_uw end) as first_decile_uw,
        max(case when 10 * reached >= 9 * total and 10 * (reached - window_count) < 9 * total then mean_uw end) as last_decile_uw
    from placed_levels
    group by all
)

select
    usage_month,
    {{ key }},
    cast(totals.window_count as bigint) as window_count,
    cast(hosts.host_count as bigint) as host_count,
    totals.metered_us,
    totals.unmetered_share,
    case when totals.idle_us > 0 then {{ int_div('totals.idle_uw_us', 'totals.idle_us') }} end as idle_uw,
    {{ int_div('totals.metered_uw_us', 'totals.metered_us') }} as mean_uw,
    case
        when totals.busy_us > 0 then {{ int_div('totals.busy_uw_us', 'totals.busy_us') }}
        else deciles.last_decile_uw
    end as busy_uw,
    {{ int_div('cast(deciles.last_decile_uw - deciles.first_decile_uw as decimal(38, 0))', 'cast(2 as decimal(38, 0))') }}
        as spread_uw,
    totals.first_us,
    totals.last_us
from totals
inner join hosts using (usage_month, {{ key }})
inner join deciles using (usage_month, {{ key }})
-- fewer tell of some chips on some day, not of the type
where totals.window_count >= 20 and hosts.host_count >= 3 and totals.metered_us >= 3600000000

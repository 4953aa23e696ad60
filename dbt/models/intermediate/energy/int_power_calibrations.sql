{{ config(materialized='by_month') }}
{%- set key = 'accelerator_type, sdk_version, source_kind' %}
{%- set place = 'usage_month, ' ~ key ~ ', window_class, workload, host' %}
{#- whole milliwatts, so that squares have room -#}
{%- set workload_mw = int_div('cast(workload_uw + 500 as decimal(38, 0))', 'cast(1000 as decimal(38, 0))') %}
{%- set terms = ['between_workloads', 'between_hosts', 'meter_error', 'host_range', 'normal_quantile'] %}

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
        workload,
        host,
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

levels as (
    select
        months_in_reach.usage_month,
        {{ key }},
        levels.window_class,
        levels.workload,
        levels.host,
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

totals as (
    select
        usage_month,
        {{ key }},
        cast(sum(window_count) as bigint) as window_count,
        count(distinct host) as host_count,
        cast(sum(metered_us) as decimal(38, 0)) as metered_us,
        max(unmetered_share) as unmetered_share,
        min(first_us) as first_us,
        max(last_us) as last_us,
        bool_or(window_class in ('idle', 'other')) as is_seen_at_all_use
    from levels
    group by all
),

busy_runs_of_month as (
    select distinct
        usage_month as measured_month,
        {{ key }},
        training_run_id,
        cast({{ timestamp_of('window_from_us') }} as date) as day
    from {{ ref('int_power_windows') }}
    where window_class = 'busy' and training_run_id is not null
),

busy_runs as (
    select
        months_in_reach.usage_month,
        {{ key }},
        count(distinct runs.training_run_id) as run_count,
        count(distinct runs.day) as day_count
    from months_in_reach
    inner join busy_runs_of_month as runs using (measured_month)
    group by all
),

placed_levels as (
    select
        *,
        sum(metered_us) over (partition by {{ place }} order by watts) as reached,
        sum(metered_us) over (partition by {{ place }}) as total
    from levels
    where window_class in ('idle', 'busy')
),

-- a host under a workload: the level at which half of its time is reached; of all use that is known the mean by time
host_values as (
    select
        usage_month, {{ key }}, window_class as figure, workload, host,
        {{ int_div('metered_uw_us', 'metered_us') }} as host_uw
    from placed_levels
    where 2 * reached >= total and 2 * (reached - metered_us) < total and workload is not null

    union all

    select
        usage_month, {{ key }}, 'mean' as figure, workload, host,
        {{ int_div('cast(sum(metered_uw_us) as decimal(38, 0))', 'cast(sum(metered_us) as decimal(38, 0))') }} as host_uw
    from levels
    where window_class <> 'unknown' and workload is not null
    group by usage_month, {{ key }}, workload, host
),

ranked_hosts as (
    select
        *,
        row_number() over (partition by usage_month, {{ key }}, figure, workload order by host_uw, host) as host_rank,
        count(*) over (partition by usage_month, {{ key }}, figure, workload) as hosts
    from host_values
),

-- the median of its hosts
workload_values as (
    select
        usage_month,
        {{ key }},
        figure,
        workload,
        {{ int_div(
            'cast(sum(case when 2 * host_rank between hosts and hosts + 2 then host_uw else 0 end) as decimal(38, 0))',
            'cast(sum(case when 2 * host_rank between hosts and hosts + 2 then 1 else 0 end) as decimal(38, 0))'
        ) }} as workload_uw,
        cast(max(host_uw) - min(host_uw) as decimal(38, 0)) as range_uw
    from ranked_hosts
    group by all
),

figures as (
    select
        usage_month,
        {{ key }}
        {%- for figure in ['idle', 'mean', 'busy'] %}
        {%- set values = 'case when figure = \'' ~ figure ~ '\' then workload_uw end' %},
        case when count({{ values }}) > 0 then
            {{ int_div('cast(sum(' ~ values ~ ') as decimal(38, 0))', 'cast(count(' ~ values ~ ') as decimal(38, 0))') }}
        end as metered_{{ figure }}_uw
        {%- endfor %},
        count(case when figure = 'busy' then 1 end) as workload_count,
        cast(sum(case when figure = 'busy' then {{ workload_mw }} end) as decimal(38, 0)) as busy_mw,
        cast(sum(
            case when figure = 'busy' then cast({{ workload_mw }} * {{ workload_mw }} as decimal(38, 0)) end
        ) as decimal(38, 0)) as busy_mw_squares,
        max(case when figure = 'busy' and workload_uw > 0 then cast(range_uw as double) / cast(workload_uw as double) end)
            as hosts_apart
    from workload_values
    group by all
),

class_hosts as (
    select
        usage_month,
        {{ key }},
        nullif(cast(count(distinct case when figure = 'idle' then host end) as double), 0) as idle_hosts,
        nullif(cast(count(distinct case when figure = 'busy' then host end) as double), 0) as busy_hosts
    from host_values
    group by all
),

terms as (
    select
        {%- for term in terms %}
        cast(max(case when term = '{{ term }}' then value end) as double) as {{ term }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ ref('calibration_terms') }}
),

band as (
    select cast(max(case when doubt = 'chip_most_share_of_full' then value end) as double) as share_of_full
    from {{ ref('power_doubts') }}
),

-- what a meter does not see is none of it at the least and all of it at the most
with_rails as (
    select
        totals.*,
        coalesce(busy_runs.run_count, 0) as run_count,
        coalesce(busy_runs.day_count, 0) as day_count,
        coalesce(figures.workload_count, 0) as workload_count,
        figures.hosts_apart,
        class_hosts.idle_hosts,
        class_hosts.busy_hosts,
        cast(figures.workload_count as double) as workloads,
        -- squared distances of workloads from their mean, as shares of it
        cast(cast(
            cast(figures.workload_count * figures.busy_mw_squares as decimal(38, 0))
            - cast(figures.busy_mw * figures.busy_mw as decimal(38, 0)) as decimal(38, 0)
        ) as double) * cast(figures.workload_count as double)
        / nullif(cast(figures.busy_mw as double) * cast(figures.busy_mw as double), 0)
            as squared_shares,
        cast(totals.unmetered_share as double) / (2 + cast(totals.unmetered_share as double)) as rails
        {%- for figure in ['idle', 'mean', 'busy'] %},
        {{ int_div(
            'cast(metered_' ~ figure ~ '_uw * (2000000 + ' ~ to_units('totals.unmetered_share', 6) ~ ') as decimal(38, 0))',
            'cast(2000000 as decimal(38, 0))'
        ) }} as {{ figure }}_uw
        {%- endfor %}
    from totals
    left join figures using (usage_month, {{ key }})
    left join class_hosts using (usage_month, {{ key }})
    left join busy_runs using (usage_month, {{ key }})
    -- one chip-hour is the least
    where totals.metered_us >= 3600000000
),

-- the seeded difference between workloads counts as one workload more; of fewer than three it is all that is known
with_spread as (
    select
        with_rails.*,
        terms.*,
        terms.normal_quantile * terms.normal_quantile as z2,
        cast(quantiles.t_975 as double) as t,
        case
            when with_rails.workload_count >= 3
                then (terms.between_workloads * terms.between_workloads + with_rails.squared_shares) / with_rails.workloads
            else terms.between_workloads * terms.between_workloads
        end as variance
    from with_rails
    cross join terms
    left join {{ ref('t_two_sided') }} as quantiles
        on least(greatest(with_rails.workload_count, 3), 40) = quantiles.degrees_of_freedom
),

-- half widths as shares of the middle: of the type's full power, of that of a run on one more host with one more workload, of
-- the idle power of that host
halves as (
    select
        *,
        sqrt(
            t * t * variance / workloads + z2 * (meter_error * meter_error + between_hosts * between_hosts / busy_hosts)
            + rails * rails
        ) as busy_half,
        sqrt(
            t * t * variance * (1 + 1 / workloads)
            + z2 * (meter_error * meter_error + between_hosts * between_hosts * (1 + 1 / busy_hosts)) + rails * rails
        ) as run_half,
        sqrt(
            z2 * (meter_error * meter_error + between_hosts * between_hosts * (1 + 1 / idle_hosts)) + rails * rails
        ) as idle_half
    from with_spread
),

judged as (
    select
        halves.*,
        case
            when halves.busy_uw is null or halves.busy_uw = 0 then 'no_busy_windows'
            when halves.hosts_apart > halves.host_range then 'hosts_disagree'
            when
                cast(halves.busy_uw as double) < cast(power.chip_power_idle_w_low as double) * 1e6
                or cast(halves.busy_uw as double) > cast(power.chip_power_max_w_high as double) * 1e6 * band.share_of_full
                then 'outside_band'
            when halves.workload_count < 3 and (halves.run_count < 5 or halves.day_count < 5) then 'too_few_workloads'
        end as refused_reason
    from halves
    cross join band
    left join {{ ref('accelerator_power') }} as power using (accelerator_type)
)

select
    usage_month,
    {{ key }},
    window_count,
    host_count,
    run_count,
    workload_count,
    metered_us,
    unmetered_share,
    idle_uw,
    -- chips that were metered only while they worked show no mean
    case when is_seen_at_all_use then mean_uw end as mean_uw,
    busy_uw,
    cast(floor(cast(busy_uw as double) * busy_half + 5e-1) as bigint) as spread_uw
    {%- for half in ['run', 'idle'] %},
    cast(floor({{ half }}_half * 1e6 + 5e-1) as bigint) as {{ half }}_ppm
    {%- endfor %},
    case when refused_reason is null and workload_count >= 3 then cast(0.95 as double) end as coverage_promised,
    refused_reason,
    first_us,
    last_us
from judged

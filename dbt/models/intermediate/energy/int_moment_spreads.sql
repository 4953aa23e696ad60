{{ config(materialized='by_month', meta={'empty_without': ['int_power_readings where is_moment'], 'days': 'usage_day'}) }}
{%- set series = 'usage_month, boundary, meter, host_key, device_key' %}

with readings as (
    select
        *,
        coalesce(host_id, '|' || run_key, '') as host_key,
        coalesce(device_index, -1) as device_key,
        sample_to_us - 1 - (sample_to_us - 1) % 3600000000 as hour_us
    from {{ ref('int_power_readings') }}
    where is_moment and {{ in_build_months() }}
),

moments as (
    select {{ series }}, usage_day, hour_us, sample_to_us, max(cast(coalesce(power_uw, driver_ppm) as decimal(19, 0))) as figure
    from readings
    where coalesce(power_uw, driver_ppm) is not null
    group by all
),

neighbours as (
    select
        *,
        cast(figure - lag(figure) over (partition by {{ series }} order by sample_to_us) as decimal(19, 0)) as step
    from moments
)

-- twice the standard error of a clock hour's mean by the steps between neighbours, as a share of the mean
select
    {{ series }},
    usage_day,
    hour_us,
    case
        when sum(figure) > 0 then cast(least(
            floor(1e6 * sqrt(2e0 * cast(coalesce(sum(step * step), 0) as double)) / cast(sum(figure) as double) + 5e-1), 1e6
        ) as bigint)
    end as spread_ppm
from neighbours
group by all

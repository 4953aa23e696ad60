{{ config(materialized='by_month', meta={'by_day': 'usage_day', 'empty_without': ['int_power_readings']}) }}
{%- set series = 'usage_month, usage_day, boundary, meter, host_key, device_key' %}

-- of a meter that several kinds of source deliver the widest
with meter_errors as (
    select
        meter,
        {{ to_units('max(error_low_share)', 6) }} as low_ppm,
        {{ to_units('max(error_high_share)', 6) }} as high_ppm
    from {{ ref('meters') }}
    group by meter
),

readings as (
    select
        *,
        coalesce(host_id, '|' || run_key, '') as host_key,
        coalesce(device_index, -1) as device_key,
        case when is_moment then sample_to_us - 1 - (sample_to_us - 1) % 3600000000 end as hour_us,
        coalesce(spacing_us, sample_to_us - sample_from_us) as apart_us
    from {{ ref('int_power_readings') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
),

-- the share by which a reading may be off: of its meter, and of a moment how far it may be from the mean of the time it covers
readings_with_error as (
    select
        readings.*,
        {%- for level in ['low', 'high'] %}
        case
            when meter_errors.{{ level }}_ppm is not null then cast(least(
                meter_errors.{{ level }}_ppm
                + case
                    when readings.is_moment
                        then greatest({{ to_units('sampling.error_' ~ level ~ '_share', 6) }}, coalesce(spreads.spread_ppm, 0))
                    else 0
                end,
                1000000
            ) as bigint)
        end as {{ level }}_ppm{{ ',' if not loop.last }}
        {%- endfor %}
    from readings
    left join meter_errors using (meter)
    left join {{ ref('int_moment_spreads') }} as spreads using ({{ series }}, hour_us)
    left join {{ ref('sampling_errors') }} as sampling
        on
            readings.is_moment
            and readings.apart_us > 1000000 * sampling.over_s
            and coalesce(readings.apart_us <= 1000000 * sampling.to_s, true)
)

select
    usage_month,
    usage_day,
    boundary,
    meter,
    host_id,
    run_key,
    device_index,
    sample_from_us,
    sample_to_us,
    is_measured,
    utilisation_ppm,
    is_below_band,
    power_uw,
    {{ less_share('power_uw', 'low_ppm') }} as power_low_uw,
    {{ more_share('power_uw', 'high_ppm') }} as power_high_uw,
    driver_ppm,
    {{ less_share('driver_ppm', 'low_ppm') }} as driver_low_ppm,
    case when driver_ppm is not null then least({{ more_share('driver_ppm', 'high_ppm') }}, 1000000) end as driver_high_ppm
from readings_with_error

{{ config(materialized='by_month') }}
{%- set owner = 'usage_month, source_name, source_object, host_id, run_key, boundary, device_index' %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

-- each in the month in which it ends
readings as (
    select
        usage_month,
        readings.first_reading,
        readings.host_id,
        readings.run_key,
        readings.boundary,
        readings.device_index,
        readings.meter,
        readings.sample_from_us,
        readings.sample_to_us,
        coalesce(readings.least_doubted_uw, readings.power_uw) as least_uw,
        coalesce(readings.most_doubted_uw, readings.power_uw) as most_uw,
        readings.is_below_band,
        readings.band_least_uw,
        readings.band_most_uw
    from {{ ref('int_power_readings') }} as readings
    inner join months using (usage_month)
    where
        readings.sample_to_us > months.month_from_us
        and readings.sample_to_us <= months.month_to_us
        and (readings.most_doubted_uw is not null or readings.is_below_band)

    union all

    select
        months.usage_month,
        readings.first_reading,
        readings.host_id,
        readings.run_key,
        'node' as boundary,
        cast(null as bigint) as device_index,
        readings.meter,
        readings.sample_from_us,
        readings.sample_to_us,
        coalesce(readings.doubted_uw, readings.power_uw) as least_uw,
        coalesce(readings.doubted_uw, readings.power_uw) as most_uw,
        readings.is_below_band,
        readings.band_least_uw,
        readings.band_most_uw
    from {{ ref('int_scheduler_readings') }} as readings
    inner join months
        on readings.sample_to_us > months.month_from_us and readings.sample_to_us <= months.month_to_us
    where readings.doubted_uw is not null or readings.is_below_band
),

-- a meter that sees a part of its node is reported as that (int_power_conflicts)
partial_meters as (
    select distinct usage_month, {{ machine_name('resource_id') }} as machine_name, meter, asked_from_us, true as is_partial
    from {{ ref('int_partial_meters') }}
),

doubted as (
    select
        readings.*,
        {{ part_of_place('readings.first_reading', 1) }} as source_name,
        {{ part_of_place('readings.first_reading', 2) }} as source_object,
        lpad(cast(readings.sample_to_us as string), 19, '0') || chr(10)
        || {{ part_of_place('readings.first_reading', 3) }} || chr(10)
        || {{ part_of_place('readings.first_reading', 4) }} as order_of_reading
    from readings
    left join partial_meters
        on
            readings.usage_month = partial_meters.usage_month
            and {{ machine_name('readings.host_id') }} = partial_meters.machine_name
            and readings.meter = partial_meters.meter
            and {{ asked_from('readings.sample_from_us', 'readings.sample_to_us') }} = partial_meters.asked_from_us
    where not (readings.is_below_band and coalesce(partial_meters.is_partial, false))
)

select
    {{ owner }},
    min(order_of_reading) as first_reading,
    count(*) as reading_count,
    min(sample_to_us) as first_us,
    max(sample_to_us) as last_us,
    cast(min(least_uw) as bigint) as least_uw,
    cast(max(most_uw) as bigint) as most_uw,
    cast(min(band_least_uw) as bigint) as band_least_uw,
    cast(max(band_most_uw) as bigint) as band_most_uw
from doubted
group by {{ owner }}

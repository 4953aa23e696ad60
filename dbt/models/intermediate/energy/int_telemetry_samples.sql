{%- set reaches = ['sample_from_us - ' ~ telemetry_gap_us(), 'sample_to_us - 1 + ' ~ telemetry_gap_us()] %}
{{ config(materialized='by_month', meta={'by_day': 'usage_day', 'reaches': reaches}) }}
{%- set day_us = 86400000000 %}
{%- set of_use = [
    'is_document', 'document_hash', 'run_key', 'host_id', 'device_index', 'is_measured', 'sample_from_us', 'sample_to_us',
    'utilisation_ppm', 'is_filled',
] %}
{%- set of_power = ['power_uw', 'power_low_uw', 'power_high_uw', 'driver_ppm', 'driver_low_ppm', 'driver_high_ppm'] %}
{%- set sample = 'document_hash, run_key, host_id, device_index, is_measured, sample_from_us, sample_to_us, utilisation_ppm' %}

with bounds as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

-- two samples that leave no gap leave none at midnight of the first
months as (
    select
        usage_month,
        month_from_us as first_us,
        month_to_us - 1 as last_us,
        month_from_us - {{ telemetry_gap_us() }} as month_from_us,
        month_to_us + {{ telemetry_gap_us() }} as month_to_us
    from bounds
),

measured as (
    select {{ sample }}, source_name from {{ ref('stg_tpu_monitoring__samples') }}
),

-- telemetry of TPUs without any duty cycle is no evidence of use
sources_of_use as (
    select distinct months.usage_month, measured.source_name
    from measured
    inner join months on measured.sample_to_us > months.month_from_us and measured.sample_to_us <= months.month_to_us
    where measured.is_measured
),

month_samples as (
    select months.usage_month, months.month_from_us, months.month_to_us, {{ sample }}, true as is_document, false as is_filled
    from {{ ref('int_device_minutes') }} as minutes
    inner join months using (usage_month)
    where minutes.sample_from_us is not null and minutes.minute_from_us is null {{ and_in_built_days('minutes.usage_day') }}

    union all

    select months.usage_month, months.month_from_us, months.month_to_us, {{ sample }}, false as is_document, false as is_filled
    from measured
    inner join months on measured.sample_from_us < months.month_to_us and measured.sample_to_us > months.month_from_us
    left join sources_of_use as sources
        on months.usage_month = sources.usage_month and measured.source_name = sources.source_name
    where measured.sample_from_us is not null and (measured.is_measured or sources.source_name is not null)

    union all

    select months.usage_month, months.month_from_us, months.month_to_us, {{ sample }}, false as is_document, gauges.is_filled
    from {{ ref('int_gauge_intervals') }} as gauges
    inner join months using (usage_month)
    where gauges.sample_from_us < months.month_to_us and gauges.sample_to_us > months.month_from_us
),

samples as (
    select
        usage_month, {{ of_use | join(', ') }},
        cast(null as bigint) as used_ppm_us,
        null as minute_samples,
        {%- for name in of_power %}
        cast(null as bigint) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from (
        select distinct
            usage_month,
            is_document,
            document_hash,
            run_key,
            host_id,
            device_index,
            is_measured,
            greatest(sample_from_us, month_from_us) as sample_from_us,
            least(sample_to_us, month_to_us) as sample_to_us,
            utilisation_ppm,
            is_filled
        from month_samples
    ) as samples_of_use

    union all

    -- of a minute that is seen throughout the use is one sum; its samples go with it, for where something cuts it
    select
        usage_month,
        true as is_document,
        cast(null as string) as document_hash,
        run_key,
        host_id,
        device_index,
        is_measured,
        minute_from_us as sample_from_us,
        minute_to_us as sample_to_us,
        utilisation_ppm,
        false as is_filled,
        used_ppm_us,
        minute_samples,
        {%- for name in of_power %}
        cast(null as bigint) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ ref('int_device_minutes') }}
    where minute_from_us is not null and {{ in_build_months() }} {{ and_in_built_days() }}

    union all

    select
        usage_month,
        false as is_document,
        readings.meter as document_hash,
        readings.run_key,
        readings.host_id,
        readings.device_index,
        readings.is_measured,
        greatest(readings.sample_from_us, months.month_from_us) as sample_from_us,
        least(readings.sample_to_us, months.month_to_us) as sample_to_us,
        readings.utilisation_ppm,
        false as is_filled,
        cast(null as bigint) as used_ppm_us,
        null as minute_samples,
        {%- for name in of_power %}
        readings.{{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ ref('int_metered_power') }} as readings
    inner join months using (usage_month)
    where
        -- it has the day that the sample will have
        true {{ and_in_built_days('readings.usage_day') }}
        and readings.boundary = 'chip'
        and coalesce(readings.power_uw, readings.driver_ppm, readings.utilisation_ppm) is not null
        and readings.sample_from_us < months.month_to_us
        and readings.sample_to_us > months.month_from_us
)

select
    usage_month,
    -- of the day in which it ends; what only reaches into the month, of its first or its last
    {{ day_of('least(greatest(samples.sample_to_us - 1, months.first_us), months.last_us)') }} as usage_day,
    {%- for name in of_use + ['used_ppm_us', 'minute_samples'] + of_power %}
    samples.{{ name }},
    {%- endfor %}
    -- whether it, or the half second about it, lies in two days
    (samples.sample_to_us - 1) % {{ day_us }} < samples.sample_to_us - samples.sample_from_us + {{ telemetry_gap_us() }} - 1
    or (samples.sample_to_us - 1) % {{ day_us }} >= {{ day_us }} - {{ telemetry_gap_us() }} as is_at_midnight
from samples
inner join months using (usage_month)

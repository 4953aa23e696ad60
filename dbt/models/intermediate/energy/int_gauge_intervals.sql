{{ config(materialized='by_month') }}
{%- set series = 'usage_month, host_id, device_index, is_measured' %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

-- telemetry without any duty cycle is no evidence of use, so there a chip that lives is not idle
sources_of_use as (
    select distinct months.usage_month, samples.source_name
    from {{ ref('stg_tpu_monitoring__samples') }} as samples
    inner join months on samples.sample_to_us > months.month_from_us and samples.sample_to_us <= months.month_to_us
    where samples.is_measured
),

-- a month does not change when points of the next one come
points as (
    select distinct
        months.usage_month,
        samples.run_key,
        samples.host_id,
        samples.device_index,
        samples.is_measured,
        samples.sample_to_us,
        samples.document_hash,
        samples.utilisation_ppm
    from {{ ref('stg_tpu_monitoring__samples') }} as samples
    inner join months
        on
            samples.sample_to_us > months.month_from_us - 172800000000
            and samples.sample_to_us <= months.month_to_us
    inner join sources_of_use as sources
        on months.usage_month = sources.usage_month and samples.source_name = sources.source_name
    where samples.sample_from_us is null
),

{{ gauge_times(series, 'usage_month, host_id') }}

select
    {{ series }},
    points.run_key,
    points.document_hash,
    covered_times.sample_from_us,
    sample_to_us,
    points.utilisation_ppm,
    false as is_filled
from points
inner join covered_times using ({{ series }}, sample_to_us)

union all

select
    {{ series }},
    points.run_key,
    points.document_hash,
    covered_times.before_us as sample_from_us,
    covered_times.sample_from_us as sample_to_us,
    points.utilisation_ppm,
    true as is_filled
from points
inner join covered_times using ({{ series }}, sample_to_us)
where covered_times.is_bridged and covered_times.before_us < covered_times.sample_from_us

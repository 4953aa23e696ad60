{%- set reaches = ['sample_from_us', 'sample_to_us - 1'] %}
{{ config(materialized='by_month', meta={'by_day': 'usage_day', 'reaches': reaches, 'empty_without': ['int_judged_readings']}) }}
{%- set series = 'usage_month, usage_day, boundary, meter, host_key, device_key' %}
{%- set doubts = [
    'is_stuck', 'moment_uw', 'is_below_band', 'least_doubted_uw', 'most_doubted_uw', 'band_least_uw', 'band_most_uw', 'first_reading',
] %}
{%- set stated = [
    'usage_month', 'usage_day', 'boundary', 'meter', 'host_id', 'run_key', 'device_index', 'is_sampled', 'sample_from_us',
    'sample_to_us', 'accelerator_type', 'sdk_version', 'is_measured', 'utilisation_ppm', 'power_uw', 'driver_ppm', 'is_moment',
    'spacing_us',
] + doubts %}

with readings as (
    select * from {{ ref('int_judged_readings') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
),

covered as (
    select {{ stated | join(', ') }}, sample_from_us as covered_from_us
    from readings
    where sample_from_us is not null

    union all

    select
        {%- for name in stated %}
        points.{{ name }},
        {%- endfor %}
        point_times.sample_from_us as covered_from_us
    from readings as points
    inner join {{ ref('int_point_times') }} as point_times using ({{ series }}, sample_to_us)
    where points.sample_from_us is null and not points.is_sampled
)

select
    covered.usage_month,
    covered.usage_day,
    covered.boundary,
    covered.meter,
    covered.host_id,
    covered.run_key,
    case when covered.meter like 'xprof%' then coalesce(numbers.slice_index, covered.device_index) else covered.device_index end
        as device_index,
    covered.accelerator_type,
    covered.sdk_version,
    covered.is_sampled,
    covered.sample_from_us is null as is_point,
    covered.is_moment,
    covered.spacing_us,
    covered.covered_from_us as sample_from_us,
    covered.sample_to_us,
    covered.is_measured,
    covered.utilisation_ppm,
    covered.power_uw,
    covered.driver_ppm,
    covered.is_stuck,
    covered.moment_uw,
    covered.is_below_band,
    covered.least_doubted_uw,
    covered.most_doubted_uw,
    {%- for name in ['band_least_uw', 'band_most_uw', 'first_reading'] %}
    case when covered.is_below_band or covered.most_doubted_uw is not null then covered.{{ name }} end as {{ name }}
    {{- ',' if not loop.last }}
    {%- endfor %}
from covered
left join {{ ref('int_profiled_chips') }} as numbers
    on
        covered.usage_month = numbers.usage_month
        and {{ machine_name('covered.host_id') }} = numbers.machine_name
        and covered.device_index = numbers.device_index
-- what states no figure is unknown; one that is doubted is unknown and listed
where coalesce(covered.power_uw, covered.driver_ppm, covered.utilisation_ppm, covered.most_doubted_uw) is not null

{%- set is_point = 'sample_from_us is null and not is_sampled' %}
{{ config(materialized='by_month', meta={'empty_without': ['int_judged_readings where ' ~ is_point], 'days': 'usage_day'}) }}
{%- set series = 'usage_month, boundary, meter, host_key, device_key' %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

-- a window without a length is about no time at all
points as (
    select {{ series }}, sample_to_us from {{ ref('int_judged_readings') }}
    where {{ is_point }} and {{ in_build_months() }}
),

{{ gauge_times(series, 'usage_month, boundary, meter, host_key') }}

select
    {{ series }},
    {{ day_of_month('covered_times.sample_to_us') }} as usage_day,
    covered_times.sample_from_us,
    covered_times.sample_to_us
from covered_times
inner join months using (usage_month)

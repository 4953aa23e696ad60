{{ config(materialized='by_month', meta={'empty_without': ['int_node_device_spans'], 'by_day': 'usage_day'}) }}
{%- set span = 'usage_month, usage_day, resource_id, span_from_us' %}
{%- set power_times = sums_of_power() %}
{#- of minutes the sum over their samples (int_device_minutes) -#}
{%- set used = 'coalesce(used_ppm_us, cast(coalesce(utilisation_ppm, 0) as decimal(19, 0)) * seen_us)' %}
{%- set is_known = 'coalesce(utilisation_ppm, power_uw, driver_ppm) is not null' %}

with devices as (
    select *, cast(observed_to_us - observed_from_us as decimal(18, 0)) as seen_us
    from {{ ref('int_node_device_spans') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
)

select
    {{ span }},
    device_id,
    host_key,
    owner_run_id,
    cast(sum(case when {{ is_known }} then seen_us else 0 end) as decimal(38, 0)) as known_us,
    cast(sum({{ used }}) as decimal(38, 0)) as used_ppm_us
    {%- for count, time in power_times.items() %},
    {%- if count == 'powered_ppm' %}
    cast(sum(case when coalesce(power_uw, driver_ppm) is not null then {{ used }} else 0 end) as decimal(38, 0)) as {{ time }}
    {%- else %}
    cast(sum(cast({{ power_of_chip(count) }} as decimal(19, 0)) * seen_us) as decimal(38, 0)) as {{ time }}
    {%- endif %}
    {%- endfor %}
from devices
group by all

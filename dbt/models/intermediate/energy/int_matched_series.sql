{%- set models = ['int_device_minutes', 'int_power_samples', 'int_meter_samples', 'stg_tpu_monitoring__samples'] %}
{{ config(materialized='by_month', meta={'by_day': 'usage_day', 'empty_without': models}) }}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

-- each sample in the month in which it ends: one that ends at midnight lies in the month before
samples as (
    {%- for model in models[:3] %}
    select samples.usage_month, samples.usage_day, samples.host_id, samples.run_key
    from {{ ref(model) }} as samples
    inner join months using (usage_month)
    where
        samples.sample_to_us > months.month_from_us and samples.sample_to_us <= months.month_to_us
        {{ and_in_built_days('samples.usage_day') }}

    union all
    {% endfor %}
    select months.usage_month, {{ day_of_month('samples.sample_to_us') }} as usage_day, samples.host_id, samples.run_key
    from {{ ref('stg_tpu_monitoring__samples') }} as samples
    inner join months on samples.sample_to_us > months.month_from_us and samples.sample_to_us <= months.month_to_us
),

series as (
    select distinct usage_month, usage_day, coalesce(host_id, '') as host, coalesce(run_key, '') as run_key
    from samples
)

select
    *,
    {{ machine_name('host') }} as machine_name
from series

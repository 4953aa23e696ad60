{%- set days = {'by_day': 'usage_day', 'of_landed_days': 'neuron_power'} %}
{%- set reaches = ['coalesce(sample_from_us, sample_to_us - 1)', 'sample_to_us - 1'] %}
{{ config(materialized='by_month', meta=dict(days, reaches=reaches, empty_without=['stg_neuron_power__samples'])) }}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
)

select
    months.usage_month,
    {{ day_of_month('delivered.sample_to_us') }} as usage_day,
    {%- for name in power_sample_columns() %}
    delivered.{{ name }},
    {%- endfor %}
    cast(null as bigint) as spacing_us,
    delivered.sample_from_us is null and not delivered.is_sampled as is_moment,
    false as is_stuck,
    cast(null as bigint) as moment_from_us,
    cast(null as bigint) as moment_uw,
    'power_w' as column_name
from {{ ref('stg_neuron_power__samples') }} as delivered
inner join months on {{ is_power_of_month() }}
-- a window before the month is of no day of it, and is not read with one
where delivered.sample_from_us is null or delivered.sample_to_us > months.month_from_us - {{ telemetry_gap_us() }}

{{ config(materialized='by_month', meta={'empty_without': ['int_telemetry_series'], 'days': 'usage_day'}) }}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

reached as (
    select distinct
        usage_month,
        series.run,
        series.host,
        {{ each_day(
            timestamp_of('greatest(series.first_us - ' ~ telemetry_gap_us() ~ ', months.month_from_us)'),
            timestamp_of('least(series.last_us + ' ~ telemetry_gap_us() ~ ', months.month_to_us) - 1')
        ) }} as usage_day
    from {{ ref('int_telemetry_series') }} as series
    inner join months using (usage_month)
)

select
    usage_month,
    {{ day_bounds() }},
    run,
    host
from reached

-- the sources whose samples of telemetry are not all in fct_telemetry_matches: nothing that was measured disappears. In the
-- months of the build; a sample belongs to the month in which it ends, one that ends at midnight to the month before. Of
-- neuron-monitor and of the driver's power a build reads the days that changed: their samples are all in int_device_minutes and
-- int_power_samples, and what all days of a month have there is counted.
{{ config(meta={'dagster': {'ref': {'name': 'fct_telemetry_matches'}}}) }}
{%- set ended = 'sample_end - interval 1 microsecond' %}
{%- set by_day = {
    'neuron_monitor': ['int_device_minutes', 'sum(sample_count)'],
    'neuron_power': ['int_power_samples', 'count(*)'],
} %}
with samples as (
    {%- for kind in ['tpu_monitoring', 'xprof', 'gpu_monitoring', 'power_meters', 'prometheus', 'wandb'] %}
    select
        _source_name as source_name,
        cast(date_trunc('month', {{ ended }}) as date) as usage_month
    from {{ source('raw', kind) }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

samples_by_day as (
    {%- for kind, (model, samples) in by_day.items() %}
    select
        '{{ kind }}' as kind,
        source_name,
        usage_month,
        usage_day,
        {{ samples }} as sample_count
    from {{ ref(model) }}
    where
        -- one that only reaches into the month is counted in its own
        {{ of_built_months() }}
        and sample_to_us > {{ instant_us('cast(usage_month as timestamp)') }}
        and sample_to_us <= {{ instant_us('cast(usage_month as timestamp) + interval 1 month') }}
    group by all
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

delivered as (
    select source_name, usage_month, count(*) as sample_count
    from samples
    -- without an end a sample is of no month
    where {{ of_built_months() }} or usage_month is null
    group by all

    union all

    select source_name, usage_month, sum(sample_count) as sample_count
    from samples_by_day
    group by all
),

counted as (
    select
        source_name,
        usage_month,
        sum(sample_count) as sample_count,
        sum(matched_sample_count) as matched_sample_count
    from {{ ref('fct_telemetry_matches') }}
    where {{ of_built_months() }}
    group by all
),

days_of_build as (
    select
        kind,
        usage_day,
        true as is_built
    from {{ source('raw', 'build_days') }}
),

delivered_days as (
    select
        kind,
        samples_of_days.source_name,
        samples_of_days.usage_month,
        usage_day,
        count(*) as sample_count
    from (
        {%- for kind in by_day %}
        select
            '{{ kind }}' as kind,
            _source_name as source_name,
            cast(date_trunc('month', {{ ended }}) as date) as usage_month,
            cast({{ ended }} as date) as usage_day
        from {{ source('raw', kind) }}
        {{ 'union all' if not loop.last }}
        {%- endfor %}
    ) as samples_of_days
    left join days_of_build using (kind, usage_day)
    where usage_day is null or ({{ of_built_months() }} and days_of_build.is_built)
    group by all
),

built_days as (
    select samples_by_day.*
    from samples_by_day
    inner join days_of_build using (kind, usage_day)
)

select
    source_name,
    usage_month,
    cast(null as date) as usage_day,
    delivered.sample_count as delivered_samples,
    counted.sample_count as counted_samples
from delivered
full outer join counted using (source_name, usage_month)
where delivered.sample_count is distinct from counted.sample_count or counted.matched_sample_count > counted.sample_count

union all

select
    source_name,
    usage_month,
    usage_day,
    delivered_days.sample_count as delivered_samples,
    built_days.sample_count as counted_samples
from delivered_days
full outer join built_days using (kind, source_name, usage_month, usage_day)
where delivered_days.sample_count is distinct from built_days.sample_count

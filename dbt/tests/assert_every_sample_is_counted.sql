-- the sources whose samples of telemetry are not all in fct_telemetry_matches: nothing that was measured disappears. In the
-- months of the build; a sample belongs to the month in which it ends, one that ends at midnight to the month before.
{{ config(meta={'dagster': {'ref': {'name': 'fct_telemetry_matches'}}}) }}
with samples as (
    {%- for kind in [
        'neuron_monitor', 'tpu_monitoring', 'xprof', 'neuron_power', 'gpu_monitoring', 'power_meters', 'prometheus', 'wandb',
    ] %}
    select
        _source_name as source_name,
        cast(date_trunc('month', sample_end - interval 1 microsecond) as date) as usage_month
    from {{ source('raw', kind) }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

delivered as (
    select source_name, usage_month, count(*) as sample_count
    from samples
    -- without an end a sample is of no month
    where {{ of_built_months() }} or usage_month is null
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
)

select
    source_name,
    usage_month,
    delivered.sample_count as delivered_samples,
    counted.sample_count as counted_samples
from delivered
full outer join counted using (source_name, usage_month)
where delivered.sample_count is distinct from counted.sample_count or counted.matched_sample_count > counted.sample_count

-- the sources whose samples of telemetry are not all in fct_telemetry_matches: nothing that was measured disappears
{{ config(meta={'dagster': {'ref': {'name': 'fct_telemetry_matches'}}}) }}
with delivered as (
    select source_name, count(*) as sample_count
    from (
        select _source_name as source_name from {{ source('raw', 'neuron_monitor') }}
        union all
        select _source_name as source_name from {{ source('raw', 'tpu_monitoring') }}
    ) as samples
    group by all
),

counted as (
    select source_name, sum(sample_count) as sample_count, sum(matched_sample_count) as matched_sample_count
    from {{ ref('fct_telemetry_matches') }}
    group by all
)

select
    source_name,
    delivered.sample_count as delivered_samples,
    counted.sample_count as counted_samples
from delivered
full outer join counted using (source_name)
where delivered.sample_count is distinct from counted.sample_count or counted.matched_sample_count > counted.sample_count

{{ config(materialized='by_month') }}

with matches as (
    select
        source_name,
        usage_month,
        host,
        run_key,
        training_run_id,
        bool_or(is_known_key) as is_known_key,
        sum(sample_count) as sample_count,
        sum(matched_sample_count) as matched_sample_count,
        cast(sum(measured_us) as decimal(38, 0)) as measured_us,
        cast(sum(present_us) as decimal(38, 0)) as present_us
    from {{ ref('int_telemetry_matches') }}
    group by all
),

conflicts as (
    select source_name, usage_month, host, run_key, training_run_id, max(what) as what
    from {{ ref('int_telemetry_conflicts') }}
    group by all
)

select
    source_name,
    usage_month,
    host,
    run_key,
    training_run_id,
    cast(matches.sample_count as bigint) as sample_count,
    cast(matches.matched_sample_count as bigint) as matched_sample_count,
    -- a chip whose use was measured is seen to be there by other metrics too
    {{ hours('greatest(matches.measured_us, matches.present_us) * 1000000') }} as observed_chip_hours,
    case
        when run_key <> '' and not matches.is_known_key then 'unknown_run_key'
        when training_run_id = '' then 'no_run'
        when matches.matched_sample_count < matches.sample_count then 'outside_run'
        when conflicts.what = 'type' then 'type_differs'
        when conflicts.what = 'devices' then 'device_count_differs'
    end as reason
from matches
left join conflicts using (source_name, usage_month, host, run_key, training_run_id)

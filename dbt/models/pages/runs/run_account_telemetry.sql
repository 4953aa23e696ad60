select
    training_run_id, source_name,
    count(distinct host) as hosts,
    cast(sum(matched_sample_count) as bigint) as matched_samples
from {{ ref('fct_telemetry_matches') }}
where matched_sample_count > 0
group by all

select
    model_name,
    state,
    count(*) as run_count,
    cast(sum(attempt_count) as bigint) as attempt_count,
    min(started_at) as first_started_at,
    max(ended_at) as last_ended_at,
    count(*) - count(ended_at) as without_end_count
from {{ ref('dim_training_runs') }}
where model_name is not null
group by model_name, state

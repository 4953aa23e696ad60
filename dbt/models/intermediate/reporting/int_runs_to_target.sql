select
    runs.training_run_id,
    runs.provider_name,
    runs.workload_key,
    runs.pair_key,
    runs.accelerator_family,
    runs.accelerator_type,
    case when not runs.is_multi_region then runs.region_id end as region_id,
    cast(extract(year from runs.ended_at) as bigint) as usage_year,
    runs.model_flops
from {{ ref('dim_training_runs') }} as runs
cross join {{ ref('int_asked_window') }} as asked
where
    runs.state = 'succeeded'
    and coalesce(runs.is_target_reached, true)
    and not runs.is_multi_accelerator
    and runs.workload_key is not null
    and runs.accelerator_type is not null
    and runs.ended_at >= asked.window_start
    and runs.ended_at < asked.window_end

-- what the runs of a workload promise, where all that state it state the same
select
    count(*) as run_count,
    count(target_value) as target_count,
    count(distinct (target_metric, target_direction, target_value)) filter (where target_value is not null) as targets,
    min(target_metric) filter (where target_value is not null) as target_metric,
    min(target_direction) filter (where target_value is not null) as target_direction,
    min(target_value) as target_value,
    count(distinct coalesce(useful_tokens, tokens)) as works,
    min(coalesce(useful_tokens, tokens)) as tokens
from marts.dim_training_runs
where workload_key = $workload and pair_key is not null and accelerator_family in ('trainium', 'tpu')

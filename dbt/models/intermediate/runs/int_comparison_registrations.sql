-- no file registers pairs yet: each key that a run carries, registered by none
select distinct
    workload_key,
    pair_key,
    'none' as registered_by,
    cast(null as timestamp) as registered_at,
    cast(null as string) as evidence_of_time,
    false as is_registered,
    cast(null as string) as planned_promise,
    cast(null as string) as planned_target_metric,
    cast(null as string) as planned_target_direction,
    cast(null as decimal(38, 9)) as planned_target_value,
    cast(null as decimal(38, 0)) as planned_tokens
from {{ ref('dim_training_runs') }}
where workload_key is not null and pair_key is not null

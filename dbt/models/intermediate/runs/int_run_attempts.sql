-- the first that has attempts; of logs one, whose names for them differ
select *
from {{ ref('int_recorded_attempts') }}
qualify
    system_rank = min(system_rank) over (partition by training_run_id)
    and (system_rank < '4' or record_system = min(record_system) over (partition by training_run_id))

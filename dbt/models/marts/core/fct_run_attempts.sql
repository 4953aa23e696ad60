select
    training_run_id,
    attempt_id,
    started_at,
    max(ended_at) as ended_at,
    max(state) as state,
    max(record_system) as record_system,
    max(kept_until) as kept_until,
    max(kept_because) as kept_because,
    {{ hours('max(lost_us) * 1000000') }} as lost_hours,
    {{ hours('max(lost_chip_us) * 1000000') }} as lost_chip_hours,
    {{ hours('max(waiting_chip_us) * 1000000') }} as waiting_chip_hours,
    case
        when not bool_or(is_lost) then null
        when max(kept_because) is null
            then 'neither a checkpoint nor the step from which the run went on is recorded: all of it counts'
        when max(lost_chip_us) is null then 'its chips are not known'
    end as lost_because
from {{ ref('int_attempt_losses') }}
group by training_run_id, attempt_id, started_at

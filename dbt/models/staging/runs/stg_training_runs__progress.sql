select distinct
    record_system,
    {{ normalised_run_id('recorded_id') }} as record_run_id,
    progress_kind,
    attempt_id,
    happened_at,
    until_at,
    step,
    seconds,
    device_tokens,
    device_flops,
    device_count,
    arithmetic
from {{ source('raw', 'training_runs') }}
where part = 'progress'

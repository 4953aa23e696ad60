select distinct
    record_system,
    {{ normalised_run_id('recorded_id') }} as record_run_id,
    progress_kind,
    attempt_id,
    happened_at,
    until_at,
    step,
    {{ to_exact('seconds', 9) }} as seconds,
    -- whole, and operations of many digits: every one that the bits say
    {{ whole_number('coalesce(cast(device_tokens__text as double), device_tokens)') }} as device_tokens,
    {{ whole_number('coalesce(cast(device_flops__text as double), device_flops)') }} as device_flops,
    device_count,
    arithmetic
from {{ source('raw', 'training_runs') }}
where part = 'progress'

select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    record_system,
    {{ normalised_run_id('recorded_id') }} as record_run_id,
    attempt_id,
    state,
    started_at,
    ended_at
from {{ source('raw', 'training_runs') }}
where part = 'attempt'

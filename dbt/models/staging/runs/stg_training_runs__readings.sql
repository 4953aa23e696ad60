select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    record_system,
    {{ normalised_run_id('recorded_id') }} as record_run_id,
    attempt_id,
    nullif(resource_id, '') as resource_id,
    {{ instant_us('started_at') }} as from_us,
    {{ instant_us('ended_at') }} as to_us,
    {{ to_exact('energy_j', 6) }} as energy_j,
    meter
from {{ source('raw', 'training_runs') }}
where part = 'reading' and started_at < ended_at and {{ as_double('energy_j') }} > 0

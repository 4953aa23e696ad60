select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    record_system,
    {{ normalised_run_id('recorded_id') }} as record_run_id,
    attempt_id,
    resource_id,
    accelerator_type,
    cast({{ to_exact('chips', 6) }} as decimal(18, 6)) as chips,
    coalesce(node_count, 1) as node_count,
    started_at,
    ended_at
from {{ source('raw', 'training_runs') }}
where part = 'node'

select
    registrations._source_name as source_name,
    registrations._source_object as source_object,
    registrations._row_number as row_number,
    registrations._published_at as published_at,
    files.evidence_of_time,
    {{ normalised_run_id('registrations.recorded_id') }} as record_run_id,
    registrations.workload_key,
    registrations.pair_key,
    registrations.target_metric,
    registrations.target_direction,
    {{ to_exact('registrations.target_value', 9) }} as target_value,
    cast(registrations.tokens as decimal(38, 0)) as tokens
from {{ source('raw', 'training_runs') }} as registrations
inner join {{ source('raw', 'registration_files') }} as files
    on registrations._source_name = files.source_name and registrations._source_object = files.source_object
where registrations.part = 'registration'

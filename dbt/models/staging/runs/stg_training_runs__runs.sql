select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    _published_at as published_at,
    record_system,
    recorded_id,
    {{ normalised_run_id('recorded_id') }} as record_run_id,
    provider_name,
    workload_key,
    pair_key,
    model_name,
    framework,
    team,
    tokens,
    useful_tokens,
    steps,
    model_flops,
    target_metric,
    target_direction,
    target_value,
    final_value
from {{ source('raw', 'training_runs') }}
where part = 'run'

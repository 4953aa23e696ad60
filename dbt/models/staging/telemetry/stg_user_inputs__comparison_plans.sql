select
    plans._source_name as source_name,
    plans._source_object as source_object,
    plans._row_number as row_number,
    plans._published_at as published_at,
    files.evidence_of_time,
    plans.key as workload_key,
    plans.pair_key as pair_key_pattern,
    -- '*' at the end is any text, also none: what is before it must be the beginning
    {{ replace_all('plans.pair_key', '[*]$', '') }} as pair_key_start,
    plans.pair_key like '%*' as is_pattern,
    plans.valid_from as first_day,
    cast({{ to_exact('plans.value', 9) }} as bigint) as pair_count,
    plans.promise,
    plans.target_metric,
    plans.target_direction,
    {{ to_exact('plans.target_value', 9) }} as target_value,
    cast({{ to_exact('plans.tokens', 9) }} as decimal(38, 0)) as tokens,
    plans.source
from {{ source('raw', 'user_inputs') }} as plans
inner join {{ source('raw', 'registration_files') }} as files
    on plans._source_name = files.source_name and plans._source_object = files.source_object
where plans.kind = 'comparison_plan'

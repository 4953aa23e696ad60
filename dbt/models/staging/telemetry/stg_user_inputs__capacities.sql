select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    _published_at as published_at,
    key as capacity_id,
    cast({{ to_exact('value', 9) }} as bigint) as instance_count,
    started_at,
    ended_at,
    source
from {{ source('raw', 'user_inputs') }}
where kind = 'capacity'

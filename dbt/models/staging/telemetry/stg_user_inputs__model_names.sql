select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    _published_at as published_at,
    key as model_name,
    same_as,
    source,
    source_date
from {{ source('raw', 'user_inputs') }}
where kind = 'model_name'

select
    model_name,
    same_as,
    source,
    source_date,
    source_name
from {{ ref('stg_user_inputs__model_names') }}
-- of two files that rename the same model the one published last
qualify row_number() over (
    partition by model_name
    order by published_at desc, source_name, source_object, row_number desc
) = 1

-- of two files that state the same the one published last counts; of one file the row that began last
select
    key as fiscal_year,
    kind as figure,
    unit,
    cast(value as decimal(38, 9)) as value,
    source,
    source_date,
    source_name,
    source_object,
    row_number
from {{ ref('stg_user_inputs__figures') }}
where kind like 'own%'
qualify row_number() over (
    partition by key, kind order by published_at desc, valid_from desc nulls last, source_name, source_object, row_number desc
) = 1

-- of two files that say the same of the same, the one published last; of one file, what began last
select
    key as workload_key,
    case when kind like '%_to_tpu' then 'tpu' else 'trainium' end as to_family,
    case when kind like 'porting_cost%' then 'cost' else 'emissions' end as measure,
    unit,
    cast(cast(value as decimal(28, 9)) as decimal(38, 12)) as one_time_amount,
    source,
    source_date
from {{ ref('stg_user_inputs__figures') }}
where kind like 'porting%'
qualify row_number() over (
    partition by key, kind order by published_at desc, valid_from desc nulls last, source_name, source_object, row_number desc
) = 1

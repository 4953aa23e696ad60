-- of two files that say the same of the same, the one published last
select
    provider_name,
    accelerator_type,
    region_id,
    basis as purchase_option,
    cast(value as decimal(38, 12)) as price_per_unit,
    -- AWS bills hours of instances, Google Cloud hours of chips
    case when provider_name = 'AWS' then 'instance-hour' else 'chip-hour' end as unit,
    unit as currency,
    valid_from,
    valid_to,
    source,
    source_date,
    'user:price:' || accelerator_type || ':' || coalesce(region_id, '*') || ':' || basis || ':' || unit
    || coalesce(':' || cast(valid_from as string), '') as price_id
from {{ ref('stg_user_inputs__figures') }}
where kind = 'price'
qualify row_number() over (
    partition by provider_name, accelerator_type, region_id, basis, unit, valid_from
    order by published_at desc, source_name, source_object, row_number desc
) = 1

select
    price_id,
    provider_name,
    accelerator_type,
    region_id,
    purchase_option,
    price_per_unit,
    unit,
    currency,
    valid_from,
    cast(null as date) as valid_to,
    source,
    source_date,
    confidence,
    is_quoted_only,
    note
from {{ ref('prices') }}

union all

select
    price_id,
    provider_name,
    accelerator_type,
    region_id,
    purchase_option,
    price_per_unit,
    unit,
    currency,
    valid_from,
    valid_to,
    source,
    coalesce(source_date, valid_from) as source_date,
    'user' as confidence,
    false as is_quoted_only,
    cast(null as string) as note
from {{ ref('int_own_prices') }}

union all

-- what Google lists for the account, day by day
select
    price_id,
    provider_name,
    accelerator_type,
    region_id,
    purchase_option,
    price_per_unit,
    unit,
    currency,
    valid_from,
    valid_to,
    source,
    source_date,
    'high' as confidence,
    false as is_quoted_only,
    cast(null as string) as note
from {{ ref('int_gcp_list_prices') }}

select
    _source_name as source_name,
    _source_object as source_object,
    line_number as row_number,
    -- of the copy, which has a row for each tier and region of a row of the export
    _row_number as position,
    billing_account_id as payer_account_id,
    cast(pricing_as_of_time as date) as listed_on,
    coalesce(service_id, '') as service_code,
    coalesce(service_description, '') as service_description,
    sku_id,
    sku_description,
    coalesce(categories, '') as categories,
    {{ gcp_region('lower(region_id)') }} as region_id,
    lower(coalesce(pricing_unit, '')) as pricing_unit,
    account_currency_code as billing_currency,
    {{ to_exact('start_usage_amount', 12) }} as tier_start,
    {{ to_exact('pricing_unit_quantity', 12) }} as price_quantity,
    {{ to_exact('account_currency_amount', 12) }} as list_price,
    {{ to_exact('usd_amount', 12) }} as list_price_usd
from {{ source('raw', 'gcp_prices') }}

select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    _published_at as published_at,
    provider_name,
    payer_account_id,
    usage_month,
    upper(currency) as billing_currency,
    coalesce(charge_type, '') as charge_type,
    {{ to_exact('amount', 12) }} as stated_cost,
    source as stated_by
from {{ source('raw', 'provider_totals') }}

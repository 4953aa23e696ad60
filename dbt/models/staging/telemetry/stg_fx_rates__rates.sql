select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    _published_at as published_at,
    rate_date,
    upper(base_currency) as base_currency,
    upper(quote_currency) as quote_currency,
    {{ to_exact('rate', 12) }} as rate,
    source
from {{ source('raw', 'fx_rates') }}

select
    rate_date,
    base_currency,
    quote_currency,
    cast(rate as decimal(38, 12)) as rate,
    quote_currency = settings.reporting_currency as is_to_reporting_currency,
    source,
    source_name
from {{ ref('stg_fx_rates__rates') }}
cross join {{ source('raw', 'settings') }} as settings
where rate_date is not null and base_currency is not null and quote_currency is not null and rate > 0
qualify row_number() over (
    partition by rate_date, base_currency, quote_currency
    order by published_at desc, source_name, source_object, row_number desc
) = 1

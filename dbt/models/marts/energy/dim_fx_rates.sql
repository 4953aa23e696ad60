select
    rates.rate_date,
    rates.base_currency,
    rates.quote_currency,
    cast(rates.rate as decimal(38, 12)) as rate,
    rates.quote_currency = settings.reporting_currency as is_to_reporting_currency,
    rates.source,
    rates.source_name
from {{ ref('stg_fx_rates__rates') }} as rates
cross join {{ source('raw', 'settings') }} as settings
where rates.rate_date is not null and rates.base_currency is not null and rates.quote_currency is not null and rates.rate > 0
qualify row_number() over (
    partition by rates.rate_date, rates.base_currency, rates.quote_currency
    order by rates.published_at desc, rates.source_name, rates.source_object, rates.row_number desc
) = 1

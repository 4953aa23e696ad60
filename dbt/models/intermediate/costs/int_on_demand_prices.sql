with prices as (
    select
        own.provider_name,
        own.accelerator_type,
        regions.region_id,
        own.currency as billing_currency,
        own.price_per_unit as price_per_hour,
        coalesce(own.valid_from, date '0001-01-01') as price_from,
        coalesce(own.valid_to, date '9999-12-31') as price_to,
        own.region_id is null as is_of_every_region,
        false as is_list
    from {{ ref('int_own_prices') }} as own
    inner join {{ ref('regions') }} as regions
        on own.provider_name = regions.provider_name and coalesce(own.region_id, regions.region_id) = regions.region_id
    where own.purchase_option = 'on_demand'

    union all

    select
        provider_name, accelerator_type, region_id, currency as billing_currency, price_per_unit as price_per_hour,
        valid_from as price_from, valid_to as price_to, false as is_of_every_region, true as is_list
    from {{ ref('int_gcp_list_prices') }}
    where purchase_option = 'on_demand'
),

spans as (
    {{ slices('prices', 'provider_name, accelerator_type, region_id, billing_currency', 'price_from', 'price_to') }}
)

select
    spans.provider_name,
    spans.accelerator_type,
    spans.region_id,
    spans.billing_currency,
    spans.slice_from as price_from,
    spans.slice_to as price_to,
    prices.price_per_hour
from spans
inner join prices
    on
        spans.provider_name = prices.provider_name
        and spans.accelerator_type = prices.accelerator_type
        and spans.region_id = prices.region_id
        and spans.billing_currency = prices.billing_currency
        and prices.price_from <= spans.slice_from
        and prices.price_to >= spans.slice_to
-- the organisation's own before the provider's list, of the region before of every one, then what began later
qualify row_number() over (
    partition by spans.provider_name, spans.accelerator_type, spans.region_id, spans.billing_currency, spans.slice_from
    order by prices.is_list, prices.is_of_every_region, prices.price_from desc
) = 1

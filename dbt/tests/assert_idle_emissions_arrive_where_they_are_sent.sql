-- The fully loaded view of emissions loses nothing per month and payer's cells, each method by itself.
{{ config(meta={'dagster': {'ref': {'name': 'fct_residual_emissions'}}}) }}
with sent as (
    select
        usage_month,
        provider_name,
        cast(sum(spread_location_based_kgco2e) as decimal(38, 9)) as location_based,
        cast(sum(spread_market_based_kgco2e) as decimal(38, 9)) as market_based
    from {{ ref('fct_residual_emissions') }}
    group by usage_month, provider_name
),

received as (
    select
        usage_month,
        provider_name,
        cast(sum(location_based_kgco2e) as decimal(38, 9)) as location_based,
        cast(sum(market_based_kgco2e) as decimal(38, 9)) as market_based
    from {{ ref('int_idle_emission_shares') }}
    where is_elected
    group by usage_month, provider_name
)

select
    usage_month,
    provider_name,
    sent.location_based as sent_location_based,
    received.location_based as received_location_based,
    sent.market_based as sent_market_based,
    received.market_based as received_market_based
from sent
left join received using (usage_month, provider_name)
where
    coalesce(sent.location_based, 0) <> coalesce(received.location_based, 0)
    or coalesce(sent.market_based, 0) <> coalesce(received.market_based, 0)

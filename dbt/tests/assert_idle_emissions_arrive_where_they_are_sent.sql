-- The fully loaded view of emissions loses nothing per month and payer's cells, each method by itself.
{{ config(meta={'dagster': {'ref': {'name': 'fct_residual_emissions'}}}) }}
with sent as (
    select
        usage_month,
        provider_name,
        spread_location_based_kgco2e as location_based_kgco2e,
        spread_market_based_kgco2e as market_based_kgco2e
    from {{ ref('fct_residual_emissions') }}
    where {{ of_built_months() }}
),

received as (
    select * from {{ ref('int_idle_emission_shares') }}
    where is_elected and {{ of_built_months() }}
)

{{ unequal_sums(
    'sent', 'received', 'usage_month, provider_name', ['location_based_kgco2e', 'market_based_kgco2e'], 9, zero_if_missing=true
) }}

select
    quarter,
    usage_month,
    provider_name,
    string_agg(distinct provider_model_version, ', ' order by provider_model_version) as provider_model_versions,
    {{ by_method('provider_total_location_based_kgco2e', 'provider_total_market_based_kgco2e') }}
from {{ ref('payers_by_month') }}
left join {{ ref('emission_parts') }} using (quarter, provider_name, payer_account_id, usage_month)
group by all

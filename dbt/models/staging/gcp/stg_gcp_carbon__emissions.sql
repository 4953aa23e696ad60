{%- set kilograms = {
    'provider_total_location_based_kgco2e': 'total_location_based',
    'provider_total_market_based_kgco2e': 'total_market_based',
    'provider_scope_1_kgco2e': 'scope1',
    'provider_scope_2_location_based_kgco2e': 'scope2_location_based',
    'provider_scope_2_market_based_kgco2e': 'scope2_market_based',
    'provider_scope_3_unsplit_kgco2e': 'scope3',
} %}

with renamed as (
    select
        _source_name as source_name,
        'Google Cloud' as provider_name,
        _source_object as source_object,
        line_number as row_number,
        _is_book as is_book,
        _is_elected_version as is_elected,
        billing_account_id as payer_account_id,
        nullif(project_number, '') as project_number,
        nullif(project_id, '') as project_id,
        coalesce(service_id, '') as service_code,
        coalesce(
            {{ gcp_region('location_region') }},
            nullif({{ gcp_region_of_zone('location_location') }}, ''),
            {{ gcp_region('location_location') }},
            ''
        ) as region_id,
        coalesce(location_location, '') as location_id,
        cast(date_trunc('month', usage_month) as date) as usage_month,
        coalesce(cast(carbon_model_version as string), '') as provider_model_version
        {%- for mass in mass_names() %},
        {% if mass in kilograms %}{{ to_exact(kilograms[mass], 9) }}{% else %}cast(null as decimal(38, 9)){% endif %}
            as {{ mass }}
        {%- endfor %}
    from {{ source('raw', 'gcp_carbon') }}
)

select
    *,
    region_id = '' as is_global,
    {{ any_mass_is_negative() }} as is_negative
from renamed

{%- set tonnes = {
    'provider_total_location_based_kgco2e': 'total_lbm_emissions_value',
    'provider_total_market_based_kgco2e': 'total_mbm_emissions_value',
    'provider_scope_1_kgco2e': 'total_scope_1_emissions_value',
    'provider_scope_2_location_based_kgco2e': 'total_scope_2_lbm_emissions_value',
    'provider_scope_2_market_based_kgco2e': 'total_scope_2_mbm_emissions_value',
    'provider_scope_3_location_based_kgco2e': 'total_scope_3_lbm_emissions_value',
    'provider_scope_3_market_based_kgco2e': 'total_scope_3_mbm_emissions_value',
} %}

with renamed as (
    select
        _source_name as source_name,
        'AWS' as provider_name,
        _source_object as source_object,
        -- a report of the console is of several months: its rows have their numbers in the file
        coalesce(line_number, _row_number) as row_number,
        _is_book as is_book,
        _is_elected_version as is_elected,
        payer_account_id,
        usage_account_id as sub_account_id,
        -- everything that is not broken out sits in Other, SageMaker and HyperPod too
        case when product_code in ('AmazonEC2', 'AmazonS3', 'AmazonCloudFront') then product_code else 'Other' end
            as service_code,
        coalesce({{ aws_region('region_code') }}, {{ aws_region('location') }}, '') as region_id,
        cast(date_trunc('month', usage_period_start) as date) as usage_month,
        -- of a row that is of a quarter or a year: it is in the delivery of each of its months
        cast(period_start as date) as period_start,
        cast(period_end as date) as period_end,
        model_version as provider_model_version
        {%- for mass, column in tonnes.items() %},
        {{ from_units(to_units(to_exact(column, 9), 9) ~ ' * 1000', 9) }} as {{ mass }}
        {%- endfor %},
        cast(null as decimal(38, 9)) as provider_scope_3_unsplit_kgco2e
    from {{ source('raw', 'aws_carbon') }}
)

select
    *,
    region_id = '' as is_global,
    {{ any_mass_is_negative() }} as is_negative
from renamed

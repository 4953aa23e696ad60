-- Scope 1 + 2 + 3 by method is the provider's total within its resolution of a gram per figure. A breach is listed, not repaired.
{{ config(severity='warn', meta={'dagster': {'ref': {'name': 'int_carbon_rows'}}}) }}
select source_name, source_object, row_number
from (
    select * from {{ ref('int_carbon_rows') }}
    where {{ of_built_months() }}
) as carbon_rows
where
    abs({{ exact_sum([
        'provider_total_location_based_kgco2e', '-provider_scope_1_kgco2e', '-provider_scope_2_location_based_kgco2e',
        '-coalesce(provider_scope_3_location_based_kgco2e, provider_scope_3_unsplit_kgco2e)'
    ], 9) }})
    > 0.002
    or abs({{ exact_sum([
        'provider_total_market_based_kgco2e', '-provider_scope_1_kgco2e', '-provider_scope_2_market_based_kgco2e',
        '-coalesce(provider_scope_3_market_based_kgco2e, provider_scope_3_unsplit_kgco2e)'
    ], 9) }})
    > 0.002

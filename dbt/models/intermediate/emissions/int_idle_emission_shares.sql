{{ config(materialized='by_month') }}

with residuals as (
    select
        *,
        cell_id || '|' || reason as charge_id,
        provider_total_location_based_kgco2e as location_based_kgco2e,
        provider_total_market_based_kgco2e as market_based_kgco2e
    from {{ ref('int_residual_emissions') }}
    where reason in ('idle', 'unused_commitment') and {{ in_build_months() }}
),

parts as (
    select residuals.charge_id, runs.part_id, runs.w
    from residuals
    inner join {{ ref('int_carbon_splits') }} as runs using (usage_month, cell_id)
    where runs.part_id <> '~residual'
),

split as (
    {{ exact_split('residuals', 'parts', ['location_based_kgco2e', 'market_based_kgco2e'], 9) }}
)

select
    {{ cell_of('residuals') }},
    residuals.provider_model_version,
    residuals.is_elected,
    residuals.reason,
    split.part_id as training_run_id,
    split.location_based_kgco2e,
    split.market_based_kgco2e
from split
inner join residuals using (charge_id)

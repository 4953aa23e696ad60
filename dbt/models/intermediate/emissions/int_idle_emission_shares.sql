with residuals as (
    select
        *,
        cell_id || '|' || reason as charge_id
    from {{ ref('int_residual_emissions') }}
    where reason in ('idle', 'unused_commitment')
),

runs as (
    select cell_id, part_id, w from {{ ref('int_carbon_splits') }}
    where part_id <> '~residual'
),

charges as (
    select
        charge_id,
        provider_total_location_based_kgco2e as location_based_kgco2e,
        provider_total_market_based_kgco2e as market_based_kgco2e
    from residuals
    where cell_id in (select runs.cell_id from runs)
),

parts as (
    select residuals.charge_id, runs.part_id, runs.w
    from residuals
    inner join runs using (cell_id)
),

split as (
    {{ exact_split('charges', 'parts', ['location_based_kgco2e', 'market_based_kgco2e'], 9) }}
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

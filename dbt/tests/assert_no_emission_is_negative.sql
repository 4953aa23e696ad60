-- Negative provider masses are quarantined; none reaches a run or a residual, nor what a residual is divided into by reason.
{{ config(meta={'dagster': {'ref': {'name': 'int_carbon_splits'}}}) }}
with parts as (
    select {{ cell() }}, provider_model_version, part_id, {{ masses() }} from {{ ref('int_carbon_splits') }}

    union all

    select {{ cell() }}, provider_model_version, reason as part_id, {{ masses() }} from {{ ref('fct_residual_emissions') }}
)

select *
from parts
where {{ of_built_months() }} and {{ any_mass_is_negative() }}

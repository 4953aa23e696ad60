-- Negative provider masses are quarantined; none reaches a run or a residual.
{{ config(meta={'dagster': {'ref': {'name': 'int_carbon_splits'}}}) }}
select *
from {{ ref('int_carbon_splits') }}
where {{ of_built_months() }} and {{ any_mass_is_negative() }}

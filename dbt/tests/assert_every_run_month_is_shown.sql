-- Costs, emissions and water have a row for every month in which a run was billed or held chips.
{{ config(meta={'dagster': {'ref': {'name': 'int_run_months'}}}) }}
with costs as (
    select distinct training_run_id, usage_month from {{ ref('fct_training_run_costs') }}
    where {{ of_built_months() }}
)

select
    run_months.training_run_id,
    run_months.usage_month,
    costs.training_run_id is null as has_no_cost_row,
    emissions.training_run_id is null as has_no_emission_row,
    water.training_run_id is null as has_no_water_row
from {{ ref('int_run_months') }} as run_months
left join costs using (training_run_id, usage_month)
left join {{ ref('fct_training_run_emissions') }} as emissions using (training_run_id, usage_month, provider_name)
left join {{ ref('fct_training_run_water') }} as water using (training_run_id, usage_month)
where
    {{ of_built_months('run_months.usage_month') }}
    and (costs.training_run_id is null or emissions.training_run_id is null or water.training_run_id is null)

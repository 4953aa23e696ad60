-- Energy and modelled emissions have a row for every run-month, and no others.
{{ config(meta={'dagster': {'ref': {'name': 'fct_training_run_energy'}}}) }}
with run_months as (
    select distinct training_run_id, usage_month from {{ ref('int_run_months') }}
    where {{ of_built_months() }}
),

modelled as (
    select distinct training_run_id, usage_month from {{ ref('fct_training_run_emissions_modelled') }}
    where {{ of_built_months() }}
),

energy as (
    select training_run_id, usage_month from {{ ref('fct_training_run_energy') }}
    where {{ of_built_months() }}
)

select
    training_run_id,
    usage_month,
    run_months.training_run_id as run_month_id,
    energy.training_run_id as energy_run_id,
    modelled.training_run_id as modelled_run_id
from run_months
full outer join energy using (training_run_id, usage_month)
full outer join modelled using (training_run_id, usage_month)
where run_months.training_run_id is null or energy.training_run_id is null or modelled.training_run_id is null

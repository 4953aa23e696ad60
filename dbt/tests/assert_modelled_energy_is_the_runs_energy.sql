-- The facility energy of a run's regions is the facility energy of the run-month.
{{ config(meta={'dagster': {'ref': {'name': 'fct_training_run_emissions_modelled'}}}) }}
with regions as (
    select training_run_id, usage_month, {{ whole_sum('facility_energy_kwh', 'decimal(38, 9)') }} as facility_energy_kwh
    from {{ ref('fct_training_run_emissions_modelled') }}
    where factor_set_id = 'location_direct_v1' and {{ of_built_months() }}
    group by all
)

select energy.training_run_id, energy.usage_month, energy.facility_energy_kwh, regions.facility_energy_kwh as modelled_energy_kwh
from {{ ref('fct_training_run_energy') }} as energy
inner join regions using (training_run_id, usage_month)
where energy.facility_energy_kwh is distinct from regions.facility_energy_kwh

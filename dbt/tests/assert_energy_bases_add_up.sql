-- The four parts by basis are the facility energy, and the basis named is the weakest of those used.
{{ config(meta={'dagster': {'ref': {'name': 'fct_training_run_energy'}}}) }}
select *
from (
    select * from {{ ref('fct_training_run_energy') }}
    where {{ of_built_months() }}
) as energy
where
    {{ exact_sum(
        ['energy_kwh_measured', 'energy_kwh_driver_power', 'energy_kwh_utilisation_model', 'energy_kwh_time_model'], 9
    ) }} is distinct from facility_energy_kwh
    or coalesce(
        least(energy_kwh_measured, energy_kwh_driver_power, energy_kwh_utilisation_model, energy_kwh_time_model) < 0, false
    )
    or (energy_basis = 'measured' and coalesce(energy_kwh_driver_power <> 0 or energy_kwh_utilisation_model <> 0, false))
    or (energy_basis in ('measured', 'driver_power') and coalesce(energy_kwh_time_model <> 0, false))
    or (energy_basis = 'driver_power' and coalesce(energy_kwh_utilisation_model <> 0, false))
    or (energy_basis = 'utilisation_model' and coalesce(energy_kwh_time_model <> 0, false))
    or (energy_basis = 'utilisation_model' and facility_energy_kwh is null and chip_energy_kwh is null)
    or (energy_basis = 'time_model' and telemetry_coverage_ratio = 1 and chip_energy_kwh is not null)
    -- a part that was metered needs no samples
    or (energy_basis = 'utilisation_model' and telemetry_coverage_ratio < 1 and coalesce(energy_kwh_measured, 0) = 0)

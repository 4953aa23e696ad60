select
    training_run_id, energy_basis, power_confidence, pue_source,
    count(*) as months,
    sum(facility_energy_kwh) as facility_energy_kwh,
    sum(energy_kwh_measured) as measured,
    sum(energy_kwh_driver_power) as driver_power,
    sum(energy_kwh_utilisation_model) as utilisation_model,
    sum(energy_kwh_time_model) as time_model,
    min(telemetry_coverage_ratio) as least_telemetry_coverage_ratio
from {{ ref('fct_training_run_energy') }}
group by all

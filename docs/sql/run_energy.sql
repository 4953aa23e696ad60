-- How much energy did each run use, at which boundary, between which bounds, and on which evidence?
-- A wrong wattage is wrong in every month, so bounds are added over months. A run with a month that nobody can know has no total: half a total is not a total.
select
    energy.training_run_id,
    runs.accelerator_family,
    runs.accelerator_type,
    case when count(*) = count(energy.chip_energy_kwh) then sum(energy.chip_energy_kwh) end as chip_energy_kwh,
    case when count(*) = count(energy.facility_energy_kwh) then sum(energy.facility_energy_kwh) end as facility_energy_kwh,
    case when count(*) = count(energy.facility_energy_kwh_low) then sum(energy.facility_energy_kwh_low) end as facility_energy_kwh_low,
    case when count(*) = count(energy.facility_energy_kwh_high) then sum(energy.facility_energy_kwh_high) end as facility_energy_kwh_high,
    sum(energy.reserved_chip_hours) as reserved_chip_hours,
    -- null for months without telemetry
    sum(energy.busy_chip_hours) as busy_chip_hours,
    min(energy.telemetry_coverage_ratio) as least_coverage,
    -- the weakest of its months, as in the table itself
    max_by(energy.energy_basis, case energy.energy_basis
        when 'measured' then 1 when 'driver_power' then 2 when 'utilisation_model' then 3 else 4
    end) as weakest_basis,
    max_by(energy.power_confidence, case energy.power_confidence
        when 'measured' then 1 when 'calibrated' then 2 when 'published' then 3 when 'third_party' then 4 when 'user' then 5 else 6
    end)
        as weakest_power_confidence
from marts.fct_training_run_energy as energy
inner join marts.dim_training_runs as runs on energy.training_run_id = runs.training_run_id
group by all
order by facility_energy_kwh desc nulls last, energy.training_run_id;

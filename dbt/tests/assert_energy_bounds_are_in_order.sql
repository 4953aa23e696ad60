-- Bounds enclose their figure, a wider boundary never holds less, and no energy is negative.
{{ config(meta={'dagster': {'ref': {'name': 'fct_training_run_energy'}}}) }}
select *
from (
    select * from {{ ref('fct_training_run_energy') }}
    where {{ of_built_months() }}
) as energy
where
    not coalesce(
        0 <= chip_energy_kwh_low and chip_energy_kwh_low <= chip_energy_kwh and chip_energy_kwh <= chip_energy_kwh_high, true
    )
    or not coalesce(chip_host_energy_kwh_low <= chip_host_energy_kwh and chip_host_energy_kwh <= chip_host_energy_kwh_high, true)
    or not coalesce(it_energy_kwh_low <= it_energy_kwh and it_energy_kwh <= it_energy_kwh_high, true)
    or not coalesce(facility_energy_kwh_low <= facility_energy_kwh and facility_energy_kwh <= facility_energy_kwh_high, true)
    or not coalesce(
        chip_energy_kwh <= chip_host_energy_kwh
        and chip_host_energy_kwh <= it_energy_kwh
        and it_energy_kwh <= facility_energy_kwh,
        true
    )
    or not coalesce(idle_share_facility_energy_kwh >= 0, true)

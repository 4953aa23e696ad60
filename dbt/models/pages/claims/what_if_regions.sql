select
    workload_key,
    accelerator_type,
    provider_name,
    region_id,
    is_where_it_ran,
    run_count,
    it_energy_kwh,
    it_energy_kwh_low,
    it_energy_kwh_high,
    pue_ratio as region_pue,
    pue_year,
    is_pue_of_fleet,
    factor_id,
    what_if_location_based_kgco2e,
    what_if_location_based_kgco2e_low,
    what_if_location_based_kgco2e_high,
    not_available_reason
from {{ ref('rpt_region_what_if') }}

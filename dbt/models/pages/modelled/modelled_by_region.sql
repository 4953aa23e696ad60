select
    quarter,
    run_months.provider_name,
    modelled.region_id,
    modelled.factor_set_id,
    factors.grid_zone,
    factor_id,
    factors.value as factor_value,
    max(modelled.factor_age_years) as factor_age_years,
    count(distinct training_run_id) as run_count,
    {{ whole('modelled.facility_energy_kwh') }} as facility_energy_kwh,
    {{ whole('modelled_location_based_kgco2e') }} as modelled_location_based_kgco2e,
    {{ whole('modelled_location_based_kgco2e_low') }} as modelled_location_based_kgco2e_low,
    {{ whole('modelled_location_based_kgco2e_high') }} as modelled_location_based_kgco2e_high
from {{ ref('fct_training_run_emissions_modelled') }} as modelled
{{ of_quarters() }}
inner join {{ ref('energy_run_months') }} as run_months using (training_run_id, usage_month)
left join {{ ref('dim_emission_factors') }} as factors using (factor_id)
where run_months.holds_chips
group by all

select distinct
    modelled.training_run_id,
    modelled.region_id,
    modelled.factor_id,
    factors.source,
    factors.value as factor_kgco2e_per_kwh,
    factors.data_year
from {{ ref('fct_training_run_emissions_modelled') }} as modelled
left join {{ ref('dim_emission_factors') }} as factors on modelled.factor_id = factors.factor_id
where modelled.factor_set_id = 'location_direct_v1'

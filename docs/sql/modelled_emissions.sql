-- What are the modelled emissions of each run, with which factor and how old is it? Location-based only, the book is fct_training_run_emissions.
-- Set user are the organisation's own factors, beside the default for the same runs: filter on one set before you add.
-- A region without a factor in force is shown with its energy and without emissions.
select
    modelled.training_run_id,
    modelled.usage_month,
    modelled.region_id,
    modelled.facility_energy_kwh,
    modelled.modelled_location_based_kgco2e,
    modelled.modelled_location_based_kgco2e_low,
    modelled.modelled_location_based_kgco2e_high,
    modelled.factor_set_id,
    factors.source as factor_source,
    factors.value as factor_kgco2e_per_kwh,
    modelled.factor_age_years
from marts.fct_training_run_emissions_modelled as modelled
-- left, not inner: a run without a factor must show as null, not disappear
left join marts.dim_emission_factors as factors on modelled.factor_id = factors.factor_id
order by modelled.training_run_id, modelled.usage_month, modelled.region_id, modelled.factor_set_id;

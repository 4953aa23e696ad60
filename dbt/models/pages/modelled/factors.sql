with used as (
    select
        quarter,
        factor_id,
        max(factor_age_years) as factor_age_years,
        string_agg(distinct region_id, ', ' order by region_id) as regions,
        sum(facility_energy_kwh) as facility_energy_kwh
    from {{ ref('fct_training_run_emissions_modelled') }}
    {{ of_quarters() }}
    where factor_id is not null
    group by quarter, factor_id
)

select
    used.quarter,
    factors.*,
    used.factor_age_years,
    used.regions,
    used.facility_energy_kwh
from used
inner join {{ ref('dim_emission_factors') }} as factors using (factor_id)

-- of the quarter's newest month: factors that are too old, or own ones that end, before the next quarter is over
with newest as (
    select
        quarter,
        quarter_end,
        max(usage_month) as usage_month
    from {{ ref('fct_training_run_emissions_modelled') }}
    {{ of_quarters() }}
    where factor_id is not null
    group by all
)

select
    quarter,
    valid_to,
    factor_age_years is null as is_own,
    max(factor_age_years) as factor_age_years,
    string_agg(distinct region_id, ', ' order by region_id) as regions
from {{ ref('fct_training_run_emissions_modelled') }}
inner join newest using (usage_month)
inner join {{ ref('dim_emission_factors') }} using (factor_id)
where valid_to <= quarter_end + interval 3 month
group by all

{{ config(materialized='by_month') }}

with places as (
    select usage_month, provider_name, region_id from {{ ref('int_measured_run_energy') }}

    union

    -- also where nothing trained: the electricity of an account is that of all its regions
    select usage_month, provider_name, region_id from {{ ref('int_carbon_rows') }}
),

region_months as (
    select
        places.usage_month,
        provider_name,
        region_id,
        regions.grid_zone,
        cast(extract(year from places.usage_month) as bigint) as usage_year
    from places
    inner join {{ ref('regions') }} as regions using (provider_name, region_id)
    where regions.grid_zone is not null
)

select
    region_months.usage_month,
    region_months.provider_name,
    region_months.region_id,
    factors.factor_id,
    factors.factor_set_id,
    factors.value,
    region_months.usage_year - factors.data_year as factor_age_years
from region_months
inner join {{ ref('emission_factors') }} as factors using (grid_zone)
where
    factors.factor_set_id = 'location_direct_v1'
    and factors.method = 'location_based'
    and factors.basis = 'direct'
    and factors.data_year <= region_months.usage_year
    and factors.known_from < cast(date_trunc('year', region_months.usage_month) + interval 1 year as date)
qualify row_number() over (
    partition by region_months.usage_month, region_months.provider_name, region_months.region_id
    order by factors.data_year desc, factors.known_from desc, factors.factor_id
) = 1

{{ config(materialized='by_month') }}
{%- set levels = {'': 'mid', '_low': 'low', '_high': 'high'} %}
with run_months as (
    select distinct training_run_id, usage_month from {{ ref('int_run_months') }}
),

run_regions as (
    select
        training_run_id,
        usage_month,
        energy.provider_name,
        coalesce(energy.region_id, '') as region_id,
        energy.facility_energy_kwh_low,
        energy.facility_energy_kwh_mid,
        energy.facility_energy_kwh_high
    from run_months
    left join {{ ref('int_measured_run_energy') }} as energy using (training_run_id, usage_month)
),

-- the organisation's own factor is a set of its own, and the default is beside it
factors_of_sets as (
    select
        run_regions.*,
        'location_direct_v1' as factor_set_id,
        factors.value as factor,
        factors.factor_id,
        factors.factor_age_years
    from run_regions
    left join {{ ref('int_region_factors') }} as factors
        on
            run_regions.usage_month = factors.usage_month
            and run_regions.provider_name = factors.provider_name
            and run_regions.region_id = factors.region_id

    union all

    select
        run_regions.*,
        'user' as factor_set_id,
        own.factor,
        own.factor_id,
        cast(null as bigint) as factor_age_years
    from run_regions
    inner join {{ ref('int_own_figures_by_place') }} as own
        on
            run_regions.usage_month = own.usage_month
            and run_regions.training_run_id = own.training_run_id
            and run_regions.region_id = own.region_id
    where own.factor_id is not null
)

select
    training_run_id,
    usage_month,
    region_id,
    factor_set_id,
    facility_energy_kwh_mid as facility_energy_kwh
    {%- for suffix, level in levels.items() %},
    {{ from_units(int_div(
        'cast(2 * ' ~ to_units('facility_energy_kwh_' ~ level, 9) ~ ' * ' ~ to_units('factor', 9)
        ~ ' + 1000000000 as decimal(38, 0))',
        'cast(2000000000 as decimal(38, 0))'
    ), 9) }} as modelled_location_based_kgco2e{{ suffix }}
    {%- endfor %},
    factor_id,
    factor_age_years
from factors_of_sets

{%- set levels = {'': 'mid', '_low': 'low', '_high': 'high'} %}
with run_months as (
    select distinct training_run_id, usage_month from {{ ref('int_run_months') }}
)

select
    training_run_id,
    usage_month,
    coalesce(region_id, '') as region_id,
    'location_direct_v1' as factor_set_id,
    energy.facility_energy_kwh_mid as facility_energy_kwh
    {%- for suffix, level in levels.items() %},
    {{ from_units(int_div(
        'cast(2 * ' ~ to_units('energy.facility_energy_kwh_' ~ level, 9) ~ ' * ' ~ to_units('factors.value', 9)
        ~ ' + 1000000000 as decimal(38, 0))',
        'cast(2000000000 as decimal(38, 0))'
    ), 9) }} as modelled_location_based_kgco2e{{ suffix }}
    {%- endfor %},
    factors.factor_id,
    factors.factor_age_years
from run_months
left join {{ ref('int_run_region_energy') }} as energy using (training_run_id, usage_month)
left join {{ ref('int_region_factors') }} as factors using (usage_month, provider_name, region_id)

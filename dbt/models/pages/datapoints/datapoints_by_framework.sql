-- a framework takes a measure once, or never
select
    quarter,
    framework,
    count(*) as datapoint_count,
    count(value) as filled_count,
    {%- for column, measure in [
        ('cloud_location_based_tco2e', 'cloud_total_location_based'),
        ('cloud_market_based_tco2e', 'cloud_total_market_based'),
        ('training_energy_mwh', 'energy_facility'),
    ] %}
    max(value) filter (where measure = '{{ measure }}') as {{ column }},
    {%- endfor %}
    {{ framework_position() }} as framework_position
from {{ ref('rpt_quarterly_disclosure') }}
inner join {{ ref('dim_datapoints') }} using (framework, datapoint_id)
group by all

{%- set ends = ['', '_low', '_high'] %}
{#- what is measured, per what, in which view; a setting other than '' is a sensitivity of the same KPI #}
{%- set figures = [
    ('cost_per_run_to_target', 'chip', '', 'effective_cost', 'to_target'),
    ('cost_per_run_to_target', 'chip', 'price: list', 'on_demand_list_cost', 'to_target'),
    ('cost_per_run_to_target', 'chip', 'idle: loaded', 'loaded_cost', 'to_target'),
    ('cost_per_run_of_fixed_work', 'chip', '', 'effective_cost', 'fixed_work'),
    ('cost_per_run_of_fixed_work', 'chip', 'price: list', 'on_demand_list_cost', 'fixed_work'),
    ('cost_per_run_of_fixed_work', 'chip', 'idle: loaded', 'loaded_cost', 'fixed_work'),
    ('cost_per_million_tokens', 'chip', '', 'effective_cost', 'tokens'),
    ('cost_per_exaflop', 'chip', '', 'effective_cost', 'exaflop'),
    ('energy_kwh_per_million_tokens', 'chip', '', 'it_kwh', 'tokens'),
    ('energy_kwh_per_million_tokens', 'chip', 'boundary: chip', 'chip_kwh', 'tokens'),
    ('energy_kwh_per_million_tokens', 'chip', 'boundary: chip and host', 'chip_host_kwh', 'tokens'),
    ('energy_kwh_per_million_tokens', 'chip', 'pue: each its own', 'facility_kwh', 'tokens'),
    ('energy_kwh_per_million_tokens', 'chip', 'idle: loaded', 'it_loaded_kwh', 'tokens'),
    ('energy_kwh_per_million_tokens', 'deployed', '', 'facility_kwh', 'tokens'),
    ('location_based_gco2e_per_million_tokens', 'chip', '', 'it_reference_g', 'tokens'),
    ('location_based_gco2e_per_million_tokens', 'chip', 'pue: each its own', 'facility_reference_g', 'tokens'),
    ('location_based_gco2e_per_million_tokens', 'chip', 'factors: each its own region', 'modelled_g', 'tokens'),
    ('location_based_gco2e_per_million_tokens', 'chip', 'factors: user', 'own_factor_g', 'tokens'),
    ('location_based_gco2e_per_million_tokens', 'chip', 'factors: allocated by the provider', 'provider_location_g', 'tokens'),
    ('location_based_gco2e_per_million_tokens', 'chip', 'idle: loaded', 'it_loaded_reference_g', 'tokens'),
    ('location_based_gco2e_per_million_tokens', 'deployed', '', 'modelled_g', 'tokens'),
    ('market_based_gco2e_per_million_tokens', 'deployed', '', 'provider_market_g', 'tokens'),
    ('sci_gco2e_per_million_tokens', 'chip', '', 'it_loaded_reference_g', 'tokens'),
    ('sci_gco2e_per_million_tokens', 'deployed', '', 'modelled_loaded_g', 'tokens'),
    ('mfu_ratio', 'chip', '', 'mfu', 'run'),
    ('held_time_utilisation_ratio', 'chip', '', 'held_time_utilisation', 'run'),
    ('goodput_ratio', 'chip', '', 'goodput', 'run'),
] %}
{#- the measure of a run and what it is worked out from: a modelled one has a low and a high #}
{%- set modelled = {
    'it_kwh': 'it_kwh{}', 'chip_kwh': 'chip_kwh{}', 'chip_host_kwh': 'chip_host_kwh{}', 'facility_kwh': 'facility_kwh{}',
    'it_loaded_kwh': 'it_kwh{} * loading',
    'it_reference_g': 'it_kwh{} * reference_kg_per_kwh * 1e3', 'facility_reference_g': 'facility_kwh{} * reference_kg_per_kwh * 1e3',
    'it_loaded_reference_g': 'it_kwh{} * loading * reference_kg_per_kwh * 1e3',
    'modelled_g': 'modelled_kg{} * 1e3', 'own_factor_g': 'own_factor_kg{} * 1e3', 'modelled_loaded_g': 'modelled_kg{} * loading * 1e3',
} %}
{%- set stated = {
    'effective_cost': 'cast(effective_cost as double)', 'on_demand_list_cost': 'cast(on_demand_list_cost as double)',
    'loaded_cost': 'cast(loaded_cost as double)', 'provider_location_g': 'provider_location_kg * 1e3',
    'provider_market_g': 'provider_market_kg * 1e3', 'mfu': 'mfu_ratio', 'held_time_utilisation': 'held_time_utilisation_ratio',
    'goodput': 'goodput_ratio',
} %}

with figures as (
    {%- for kpi, view, setting, measure, per in figures %}
    select
        '{{ kpi }}' as kpi,
        '{{ view }}' as factor_view,
        '{{ setting }}' as setting,
        '{{ measure }}' as measure,
        '{{ per }}' as per
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

amounts as (
    select
        runs.training_run_id,
        figures.kpi,
        figures.factor_view,
        figures.setting,
        case
            when figures.kpi like 'cost%' then runs.cost_unit
            when figures.kpi like 'energy%' then 'kWh'
            when figures.kpi like '%gco2e%' then 'gCO2e'
            else '1'
        end as unit,
        runs.first_basis,
        runs.last_basis,
        runs.is_power_assumed,
        case figures.per
            when 'run' then 1e0
            when 'tokens' then runs.million_tokens
            when 'exaflop' then runs.exaflop
            when runs.promise then 1e0
        end as divisor
        {%- for end in ends %},
        case figures.measure
            {%- for measure, expression in modelled.items() %}
            when '{{ measure }}' then {{ expression.format(end) }}
            {%- endfor %}
            {%- for measure, expression in stated.items() if end == '' %}
            when '{{ measure }}' then {{ expression }}
            {%- endfor %}
        end as amount{{ end }}
        {%- endfor %}
    from {{ ref('int_compared_runs') }} as runs
    cross join figures
)

select
    training_run_id,
    kpi,
    factor_view,
    setting,
    unit,
    first_basis,
    last_basis,
    is_power_assumed,
    amount
    {%- for end in ends %},
    amount{{ end }} / divisor as value{{ end }}
    {%- endfor %}
from amounts

select
    factor_id,
    factor_set_id,
    grid_zone,
    method,
    basis,
    data_year,
    valid_from,
    valid_to,
    known_from,
    value,
    unit,
    gases,
    gwp_set,
    source,
    source_date,
    licence,
    confidence,
    note
from {{ ref('emission_factors') }}

union all

select
    figure_id as factor_id,
    'user' as factor_set_id,
    coalesce(region_id, '*') as grid_zone,
    'location_based' as method,
    'as stated' as basis,
    cast(null as bigint) as data_year,
    valid_from,
    valid_to,
    source_date as known_from,
    cast(value as decimal(18, 9)) as value,
    'kgCO2e/kWh' as unit,
    'as stated' as gases,
    'as stated' as gwp_set,
    source,
    source_date,
    'own' as licence,
    'user' as confidence,
    'of run ' || training_run_id as note
from {{ ref('int_own_figures') }}
where kind = 'factor'

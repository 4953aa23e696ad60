{%- set thousandths = 'cast(0.001 as decimal(4, 3))' %}
with stated as (
    select
        *,
        cast({{ to_exact('value', 12) }} as decimal(28, 9)) as stated_value
    from {{ source('raw', 'user_inputs') }}
    where kind not in ('comparison_plan', 'model_name', 'capacity')
)

select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    _published_at as published_at,
    kind,
    key,
    provider_name,
    -- null: of every run, region or type
    {{ normalised_run_id("nullif(case when kind = 'measured_energy' then key else training_run_id end, '')") }} as run_key,
    case when kind in ('pue', 'factor') then nullif(key, '*') else nullif(region_id, '') end as region_id,
    case when kind in ('idle_power', 'max_power', 'price') then key end as accelerator_type,
    nullif(basis, '') as basis,
    case when unit in ('kgCO2e', 'tCO2e') then 'kgCO2e' else unit end as unit,
    -- in kWh, W, kgCO2e/kWh, a ratio, kgCO2e, or the unit itself where that is a currency
    case
        when unit in ('Wh', 'gCO2e/kWh', 'kgCO2e/MWh') then cast(stated_value * {{ thousandths }} as decimal(38, 9))
        when unit in ('MWh', 'kW', 'tCO2e') then cast(stated_value * cast(1000 as decimal(4, 0)) as decimal(38, 9))
        when unit = 'GWh' then cast(stated_value * cast(1000000 as decimal(7, 0)) as decimal(38, 9))
        else cast(stated_value as decimal(38, 9))
    end as value,
    valid_from,
    valid_to,
    source,
    source_date,
    source || ', ' || coalesce(cast(source_date as string), 'undated') as stated_by
from stated

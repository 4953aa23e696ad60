select
    accelerator_source_id,
    chip_name,
    accelerator_type,
    attribute,
    value,
    unit,
    source,
    source_date,
    confidence,
    is_chosen,
    note
from {{ ref('accelerator_sources') }}

union all

select
    figures.figure_id as accelerator_source_id,
    coalesce(types.chip_name, figures.accelerator_type) as chip_name,
    figures.accelerator_type,
    case when figures.kind = 'idle_power' then 'chip_power_idle_w' else 'chip_power_max_w' end as attribute,
    cast(figures.value as decimal(38, 6)) as value,
    'W' as unit,
    figures.source,
    figures.source_date,
    'user' as confidence,
    true as is_chosen,
    'of the organisation itself, before the catalogue'
    || coalesce(', for run ' || figures.training_run_id, '')
    || coalesce(', in region ' || figures.region_id, '')
    || coalesce(', from ' || cast(figures.valid_from as string), '')
    || coalesce(', until ' || cast(figures.valid_to as string), '') as note
from {{ ref('int_own_figures') }} as figures
left join {{ ref('accelerator_types') }} as types using (accelerator_type)
where figures.kind in ('idle_power', 'max_power') and not figures.is_doubted

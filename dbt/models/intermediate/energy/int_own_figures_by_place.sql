{{ config(materialized='by_month', meta={'empty_without': ['int_own_figures']}) }}
{%- set place = 'usage_month, training_run_id, region_id, accelerator_type' %}
{%- set values = {'pue': 'pue_ratio', 'factor': 'factor', 'idle_power': 'idle_power_w', 'max_power': 'max_power_w'} %}

with run_regions as (
    select
        time.usage_month,
        time.training_run_id,
        regions.region_id,
        time.accelerator_type
    from {{ ref('int_run_chip_time') }} as time
    inner join {{ ref('int_resource_regions') }} as regions using (usage_month, resource_id, training_run_id)
),

machines as (
    select usage_month, region_id, accelerator_type from run_regions
    union
    select usage_month, region_id, accelerator_type from {{ ref('int_resource_bills') }}
),

-- where a figure may be asked for: of a run and region, of an idle machine (run ''), and of the types of either
places as (
    select usage_month, training_run_id, region_id, '' as accelerator_type from run_regions
    union
    select usage_month, training_run_id, region_id, accelerator_type
    from run_regions
    where accelerator_type is not null
    union
    select usage_month, training_run_id, '' as region_id, '' as accelerator_type from {{ ref('int_run_months') }}
    union
    select figures.valid_from as usage_month, figures.training_run_id, figures.region_id, '' as accelerator_type
    from {{ ref('int_own_figures') }} as figures
    where figures.kind = 'measured_energy' and figures.region_id is not null
    union
    select usage_month, '' as training_run_id, region_id, '' as accelerator_type from machines
    union
    select regions.usage_month, '' as training_run_id, regions.region_id, types.accelerator_type
    from machines as regions
    inner join machines as types using (usage_month)
    where types.accelerator_type is not null
),

chosen as (
    select
        places.*,
        figures.kind,
        figures.value,
        figures.stated_by,
        figures.figure_id
    from places
    inner join {{ ref('int_own_figures') }} as figures
        on
            places.accelerator_type = coalesce(figures.accelerator_type, '')
            and places.training_run_id = coalesce(figures.training_run_id, places.training_run_id)
            and places.region_id = coalesce(figures.region_id, places.region_id)
            -- in force when the month begins
            and places.usage_month >= coalesce(figures.valid_from, places.usage_month)
            and (figures.valid_to is null or places.usage_month < figures.valid_to)
    where figures.kind <> 'measured_energy' and not figures.is_doubted
    -- the narrowest: of the run before of the region before of all; then what began last
    qualify row_number() over (
        partition by places.usage_month, places.training_run_id, places.region_id, places.accelerator_type, figures.kind
        order by
            case when figures.training_run_id is null then 1 else 0 end,
            case when figures.region_id is null then 1 else 0 end,
            coalesce(figures.valid_from, date '0001-01-01') desc,
            figures.figure_id
    ) = 1
)

select
    {{ place }}
    {%- for kind, name in values.items() %},
    max(case when kind = '{{ kind }}' then value end) as {{ name }}
    {%- endfor %},
    'user: ' || max(case when kind = 'pue' then stated_by end) as pue_source,
    max(case when kind = 'factor' then figure_id end) as factor_id
from chosen
group by {{ place }}

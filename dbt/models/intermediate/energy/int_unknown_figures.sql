{{ config(meta={'empty_without': ['int_own_figures']}) }}

with known_names as (
    select region_id as known_name from {{ ref('regions') }}
    union
    select region_id as known_name from {{ ref('int_resource_regions') }}
    union
    select accelerator_type as known_name from {{ ref('accelerator_types') }}
    union
    select accelerator_type as known_name from {{ ref('int_machine_holdings') }}
),

figures_with_names as (
    select
        figures.*,
        case when figures.region_id is not null and regions.known_name is null then figures.region_id end as unknown_region,
        case when figures.accelerator_type is not null and types.known_name is null then figures.accelerator_type end
            as unknown_type,
        case
            when figures.kind = 'measured_energy' and run_months.training_run_id is null
                then figures.training_run_id || ' ' || cast(figures.valid_from as string)
        end as unknown_run
    from {{ ref('int_own_figures') }} as figures
    left join known_names as regions on figures.region_id = regions.known_name
    left join known_names as types on figures.accelerator_type = types.known_name
    left join {{ ref('int_run_months') }} as run_months
        on figures.training_run_id = run_months.training_run_id and figures.valid_from = run_months.usage_month
)

select distinct
    source_name,
    source_object,
    row_number,
    coalesce(unknown_run, unknown_type, unknown_region) as unknown_name,
    unknown_run is not null as is_unknown_run
from figures_with_names
where coalesce(unknown_run, unknown_type, unknown_region) is not null

with known_types as (
    select {{ in_one_text('accelerator_type') }} as known_types from {{ ref('accelerator_types') }}
),

types_of_runs as (
    select accelerator_type, source_name, source_object, row_number
    from {{ ref('stg_training_runs__nodes') }}
    where accelerator_type is not null

    union all

    select value as accelerator_type, source_name, source_object, row_number
    from {{ ref('int_bill_doubts') }}
    where reason = 'unknown_accelerator_type'
),

unknown_types as (
    select types_of_runs.*
    from types_of_runs
    left join {{ ref('accelerator_types') }} as types using (accelerator_type)
    where types.accelerator_family is null
),

-- one row for each type, where it comes first
first_places as (
    select * from unknown_types
    qualify row_number() over (partition by accelerator_type order by source_name, source_object, row_number) = 1
)

select
    first_places.*,
    known_types.known_types
from first_places
cross join known_types

select * from {{ ref('accelerator_types') }}

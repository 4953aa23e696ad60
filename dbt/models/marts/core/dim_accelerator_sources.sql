select * from {{ ref('accelerator_sources') }}

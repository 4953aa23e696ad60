select *
from {{ ref('dim_accelerators') }}
where accelerator_type in (select accelerator_type from {{ ref('dim_training_runs') }})

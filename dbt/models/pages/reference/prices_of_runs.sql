select *
from {{ ref('dim_prices') }}
where accelerator_type in (select accelerator_type from {{ ref('dim_training_runs') }})

{{ config(materialized='ephemeral') }}

select
    training_run_id,
    provider_name,
    workload_key,
    pair_key,
    accelerator_family,
    accelerator_type,
    case when not is_multi_region then region_id end as region_id,
    cast(extract(year from ended_at) as bigint) as usage_year,
    model_flops
from {{ ref('dim_training_runs') }}
where
    state = 'succeeded'
    and coalesce(is_target_reached, true)
    and not is_multi_accelerator
    and workload_key is not null
    and accelerator_type is not null
    and ended_at >= (select max(asked.window_start) from {{ ref('int_asked_window') }} as asked)
    and ended_at < (select max(asked.window_end) from {{ ref('int_asked_window') }} as asked)

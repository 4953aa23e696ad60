select
    model_name,
    accelerator_type,
    provider_name,
    region_id,
    count(*) as run_count,
    max(chip_count) as most_chips,
    case when sum(coalesce(unknown_months, 1)) = 0 then cast(sum(chip_hours) as decimal(38, 9)) end as chip_hours,
    bool_and(coalesce(is_measured, false)) as is_measured
from {{ ref('dim_training_runs') }}
left join {{ ref('run_chip_hours') }} using (training_run_id)
where model_name is not null
group by model_name, accelerator_type, provider_name, region_id

with calibrated as (
    select model_name, {{ windows_in_words() }} as calibrated_from
    from {{ ref('calibrated_run_months') }}
    inner join {{ ref('dim_training_runs') }} using (training_run_id)
    group by model_name
)

select
    model_name,
    cast(min(started_at) as date) as first_day,
    case when count(*) = count(ended_at) then cast(max(ended_at) as date) end as last_day,
    bool_and(coalesce(is_measured, false)) as is_measured,
    max(calibrated_from) as calibrated_from
from {{ ref('dim_training_runs') }}
left join {{ ref('run_chip_hours') }} using (training_run_id)
left join calibrated using (model_name)
where model_name is not null
group by model_name

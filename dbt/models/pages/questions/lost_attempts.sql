select
    lost.usage_month,
    lost.week_start,
    lost.cause,
    lost.training_run_id,
    lost.attempt_id,
    lost.effective_cost,
    lost.billing_currency,
    lost.facility_energy_kwh,
    lost.modelled_location_based_kgco2e,
    runs.team
from {{ ref('fct_lost_work') }} as lost
left join {{ ref('dim_training_runs') }} as runs on lost.training_run_id = runs.training_run_id
where lost.cause <> 'idle'

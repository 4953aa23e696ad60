select
    usage_month, week_start, cause, training_run_id, attempt_id, team, effective_cost, billing_currency, facility_energy_kwh,
    modelled_location_based_kgco2e
from {{ ref('fct_lost_work') }}
left join {{ ref('dim_training_runs') }} using (training_run_id)
where cause <> 'idle'

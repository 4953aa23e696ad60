-- with everything that a run is found by: a part of its names, a month of its use
with costs as (
    select
        training_run_id,
        case
            when bool_or(attribution_confidence = 'low') then 'low'
            when bool_or(attribution_confidence = 'medium') then 'medium'
            else max(attribution_confidence)
        end as cost_confidence
    from {{ ref('fct_training_run_costs') }}
    group by all
),

energy as (
    select training_run_id, string_agg(distinct power_confidence, ', ' order by power_confidence) as power_confidence
    from {{ ref('fct_training_run_energy') }}
    group by all
),

used as (
    select training_run_id, string_agg(strftime(usage_month, '%Y-%m'), ' ' order by usage_month) as months
    from {{ ref('run_month_summary') }}
    group by all
)

select
    training_run_id, team, model_name, workload_key, accelerator_type, state, started_at, status,
    effective_cost, billing_currency, facility_energy_kwh, facility_energy_kwh_low, facility_energy_kwh_high,
    cost_confidence, power_confidence, unknown_because,
    concat_ws(' ', training_run_id, recorded_id, team, model_name, workload_key, accelerator_type) as names,
    months
from {{ ref('run_summary') }}
left join costs using (training_run_id)
left join energy using (training_run_id)
left join used using (training_run_id)

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
    runs.training_run_id,
    runs.team,
    runs.model_name,
    runs.workload_key,
    runs.accelerator_type,
    runs.state,
    runs.started_at,
    runs.status,
    runs.effective_cost,
    runs.billing_currency,
    runs.facility_energy_kwh,
    runs.facility_energy_kwh_low,
    runs.facility_energy_kwh_high,
    costs.cost_confidence,
    energy.power_confidence,
    runs.unknown_because,
    concat_ws(
        ' ', runs.training_run_id, runs.recorded_id, runs.team, runs.model_name, runs.workload_key, runs.accelerator_type
    ) as names,
    used.months
from {{ ref('run_summary') }} as runs
left join costs using (training_run_id)
left join energy using (training_run_id)
left join used using (training_run_id)

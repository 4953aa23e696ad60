with lost as (
    select
        own.*, runs.team, runs.model_name, runs.accelerator_type, coalesce(runs.accelerator_family, 'none') as accelerator_family
    from {{ ref('fct_lost_work') }} as own
    left join {{ ref('dim_training_runs') }} as runs using (training_run_id)
)

select
    usage_month, {{ ledger_cell() }}, cause, billing_currency as currency,
    cast(sum(effective_cost) as decimal(38, 12)) as effective_cost,
    cast(coalesce(sum(facility_energy_kwh), 0) as decimal(38, 9)) as energy_kwh,
    count(*) - count(facility_energy_kwh) as energy_unknown
from lost
group by all

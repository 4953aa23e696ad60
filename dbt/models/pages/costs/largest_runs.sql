with costs as (
    select
        quarters.quarter, own.training_run_id, own.billing_currency,
        {{ whole('own.effective_cost') }} as effective_cost,
        sum(own.billed_cost) as billed_cost,
        row_number() over (
            partition by quarters.quarter, own.billing_currency order by sum(own.effective_cost) desc, own.training_run_id
        ) as position
    from {{ ref('fct_training_run_costs') }} as own
    {{ of_quarters() }}
    group by quarters.quarter, own.training_run_id, own.billing_currency
    qualify position <= 10
),

emissions as (
    select
        quarters.quarter, own.training_run_id,
        {{ whole('provider_total_location_based_kgco2e') }} as provider_total_location_based_kgco2e,
        {{ whole('provider_total_market_based_kgco2e') }} as provider_total_market_based_kgco2e,
        max_by(own.status, list_position(['final', 'preliminary', 'no_cell', 'not_published'], own.status)) as worst_status
    from {{ ref('fct_training_run_emissions') }} as own
    {{ of_quarters() }}
    group by quarters.quarter, own.training_run_id
),

energy as (
    select
        quarters.quarter, own.training_run_id,
        {{ whole('facility_energy_kwh') }} as facility_energy_kwh,
        {{ whole('facility_energy_kwh_low') }} as facility_energy_kwh_low,
        {{ whole('facility_energy_kwh_high') }} as facility_energy_kwh_high
    from {{ ref('fct_training_run_energy') }} as own
    {{ of_quarters() }}
    group by quarters.quarter, own.training_run_id
)

select
    costs.quarter, costs.billing_currency, costs.position, costs.training_run_id,
    runs.accelerator_family, runs.team, runs.model_name, runs.accelerator_type, runs.state, runs.attempt_count,
    costs.effective_cost, costs.billed_cost,
    energy.facility_energy_kwh, energy.facility_energy_kwh_low, energy.facility_energy_kwh_high,
    emissions.provider_total_location_based_kgco2e, emissions.provider_total_market_based_kgco2e,
    replace(emissions.worst_status, '_', ' ') as emission_status
from costs
inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
left join emissions using (quarter, training_run_id)
left join energy using (quarter, training_run_id)

{{ config(materialized='by_month') }}

with costs as (
    select
        provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month, billing_currency,
        training_run_id, cost_component, effective_cost
    from {{ ref('fct_run_cell_costs') }}

    union all

    select
        provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month, billing_currency,
        cast(null as string) as training_run_id,
        cost_component, effective_cost
    from {{ ref('fct_residual_costs') }}
),

costs_of_carbon_cells as (
    select *, {{ carbon_product('costs') }} as carbon_service_code from costs
),

-- every cell that the provider gives emissions, whether runs carry them or not
carbon_cells as (
    select
        provider_name, payer_account_id, sub_account_id, service_code as carbon_service_code, region_id, usage_month,
        true as has_carbon
    from {{ ref('fct_reconciliation') }}
    where measure = 'provider_total_location_based_kgco2e' and is_elected
    group by all
),

-- a service whose emissions are all given as Global, such as CloudFront, has them wherever it was billed
global_services as (
    select provider_name, payer_account_id, sub_account_id, carbon_service_code, usage_month, true as has_carbon
    from carbon_cells
    group by all
    having max(region_id) = ''
),

run_energies as (
    select training_run_id, usage_month, true as has_energy
    from {{ ref('fct_training_run_energy') }}
    where facility_energy_kwh is not null
)

select
    usage_month,
    costs.provider_name,
    costs.service_code,
    costs.billing_currency,
    cast(sum(costs.effective_cost) as decimal(38, 12)) as effective_cost,
    -- the energy of a run is that of its machines: its storage and its traffic have none of their own
    cast(sum(
        case when energies.has_energy and costs.cost_component in ('accelerator', 'host') then costs.effective_cost else 0 end
    ) as decimal(38, 12)) as effective_cost_with_energy,
    -- a fee, a tax and a credit use no electricity
    cast(sum(
        case
            when costs.cost_component not in ('credit', 'fee') and coalesce(cells.has_carbon, global_services.has_carbon)
                then costs.effective_cost
            else 0
        end
    ) as decimal(38, 12)) as effective_cost_with_carbon
from costs_of_carbon_cells as costs
left join run_energies as energies using (training_run_id, usage_month)
left join carbon_cells as cells
    using (provider_name, payer_account_id, sub_account_id, carbon_service_code, region_id, usage_month)
left join global_services using (provider_name, payer_account_id, sub_account_id, carbon_service_code, usage_month)
group by all

{{ config(materialized='by_month', meta={'rebuilt_for': 'status'}) }}

with held_months as (
    select
        training_run_id,
        holdings.usage_month,
        -- whose chips a run held, where its record does not name the provider
        coalesce(max(records.provider_name), max(types.provider_name), 'AWS') as provider_name
    from {{ ref('int_month_holdings') }} as holdings
    inner join {{ ref('int_run_records') }} as records using (training_run_id)
    left join {{ ref('accelerator_types') }} as types using (accelerator_type)
    where not holdings.is_ambiguous
    group by all
),

billed_run_months as (
    select
        parts.training_run_id,
        usage_month,
        provider_name,
        bool_and(coalesce(bills.is_bill_final, false)) as is_bill_final,
        bool_and(coalesce(bills.is_carbon_published, false)) as is_carbon_published,
        bool_and(coalesce(bills.is_carbon_final, false)) as is_carbon_final
    from {{ ref('int_cell_parts') }} as parts
    left join {{ ref('int_bill_months') }} as bills using (provider_name, payer_account_id, usage_month)
    where parts.training_run_id is not null
    group by all
),

providers as (
    select
        provider_name,
        usage_month,
        bool_and(is_bill_landed) as is_bill_landed,
        bool_and(is_carbon_published) as is_carbon_published,
        bool_and(is_carbon_final) as is_carbon_final
    from {{ ref('int_bill_months') }}
    group by all
),

run_months as (
    select training_run_id, usage_month, provider_name from billed_run_months
    union all
    select training_run_id, usage_month, held_months.provider_name
    from held_months
    left join billed_run_months as billed using (training_run_id, usage_month)
    where billed.training_run_id is null
)

select
    training_run_id,
    usage_month,
    provider_name,
    billed_run_months.training_run_id is not null as is_billed,
    case
        when billed_run_months.is_bill_final then 'final'
        when billed_run_months.training_run_id is not null then 'preliminary'
        when providers.is_bill_landed then 'no_cell'
        else 'not_published'
    end as cost_status,
    -- a run without billed rows cannot name its payer: every payer of its provider must have published
    coalesce(billed_run_months.is_carbon_published, providers.is_carbon_published, false) as is_carbon_published,
    coalesce(billed_run_months.is_carbon_final, providers.is_carbon_final, false) as is_carbon_final
from run_months
left join billed_run_months using (training_run_id, usage_month, provider_name)
left join providers using (provider_name, usage_month)

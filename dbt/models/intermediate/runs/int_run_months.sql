with months as (
    select distinct usage_month from {{ source('raw', 'months') }}
),

billed_payers as (
    select
        training_run_id,
        usage_month,
        provider_name,
        payer_account_id,
        min(billing_currency) as billing_currency
    from {{ ref('int_cell_parts') }}
    where training_run_id is not null
    group by training_run_id, usage_month, provider_name, payer_account_id
),

held_months as (
    select distinct holdings.training_run_id, months.usage_month
    from {{ ref('int_run_holdings') }} as holdings
    inner join months
        on holdings.started_at < months.usage_month + interval 1 month and holdings.ended_at > months.usage_month
    where not holdings.is_ambiguous
),

billed_run_months as (
    select
        billed_payers.training_run_id,
        billed_payers.usage_month,
        billed_payers.provider_name,
        bool_and(coalesce(bills.is_bill_final, false)) as is_bill_final,
        bool_and(coalesce(bills.is_carbon_published, false)) as is_carbon_published,
        bool_and(coalesce(bills.is_carbon_final, false)) as is_carbon_final
    from billed_payers
    left join {{ ref('int_bill_months') }} as bills using (provider_name, payer_account_id, usage_month)
    group by billed_payers.training_run_id, billed_payers.usage_month, billed_payers.provider_name
),

providers as (
    select
        provider_name,
        usage_month,
        bool_and(is_bill_landed) as is_bill_landed,
        bool_and(is_carbon_published) as is_carbon_published,
        bool_and(is_carbon_final) as is_carbon_final
    from {{ ref('int_bill_months') }}
    group by provider_name, usage_month
),

-- whose chips a run held, where its record does not name the provider
held_types as (
    select holdings.training_run_id, max(types.provider_name) as provider_name
    from {{ ref('int_run_holdings') }} as holdings
    inner join {{ ref('accelerator_types') }} as types using (accelerator_type)
    group by holdings.training_run_id
),

records as (
    select records.training_run_id, coalesce(max(records.provider_name), max(held_types.provider_name), 'AWS') as provider_name
    from {{ ref('int_run_records') }} as records
    left join held_types using (training_run_id)
    group by records.training_run_id
),

run_months as (
    select training_run_id, usage_month, provider_name from billed_run_months
    union all
    select held_months.training_run_id, held_months.usage_month, records.provider_name
    from held_months
    inner join records using (training_run_id)
    left join billed_run_months using (training_run_id, usage_month)
    where billed_run_months.training_run_id is null
)

select
    run_months.training_run_id,
    run_months.usage_month,
    run_months.provider_name,
    billed_run_months.training_run_id is not null as is_billed,
    case
        when billed_run_months.training_run_id is null
            then case when coalesce(providers.is_bill_landed, false) then 'no_cell' else 'not_published' end
        when billed_run_months.is_bill_final then 'final'
        else 'preliminary'
    end as cost_status,
    -- a run without billed rows cannot name its payer: every payer of its provider must have published
    coalesce(billed_run_months.is_carbon_published, providers.is_carbon_published, false) as is_carbon_published,
    coalesce(billed_run_months.is_carbon_final, providers.is_carbon_final, false) as is_carbon_final
from run_months
left join billed_run_months using (training_run_id, usage_month, provider_name)
left join providers using (provider_name, usage_month)

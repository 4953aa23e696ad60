-- Months without a bill, or without carbon, between two that have one: usually a delivery that was never made. Telemetry and
-- records may well have gaps. Asked of every month, as a warning: a payer may have paused.
{{ config(severity='warn', meta={'dagster': {'ref': {'name': 'fct_reconciliation'}}}) }}
with delivered as (
    select 'bill' as what, provider_name, payer_account_id, usage_month
    from {{ source('raw', 'months') }}
    where is_bill_landed

    union all

    select 'carbon' as what, provider_name, payer_account_id, usage_month
    from {{ source('raw', 'months') }}
    where is_carbon_published
),

spans as (
    select
        *,
        lag(usage_month) over (partition by what, provider_name, payer_account_id order by usage_month) as month_before
    from delivered
)

select what, provider_name, payer_account_id, month_before, usage_month
from spans
where usage_month > cast(month_before + interval 1 month as date)
order by what, provider_name, payer_account_id, usage_month

{{ config(materialized='by_month') }}

-- rows and credits as Google writes them: no rule of the ledger decides which of them an invoice has
with amounts as (
    select
        source_name, payer_account_id, usage_month, invoice_month as stated_month, billing_currency,
        cost as amount,
        1 as line_count
    from {{ ref('stg_gcp_billing__lines') }}
    where is_book

    union all

    select
        source_name, payer_account_id, usage_month, invoice_month as stated_month, billing_currency,
        credit_amount as amount,
        0 as line_count
    from {{ ref('stg_gcp_billing__credits') }}
    where is_book
)

select
    source_name,
    payer_account_id,
    usage_month,
    case
        when {{ matches('stated_month', '^[0-9]{4}(0[1-9]|1[0-2])$') }}
            then cast(substr(stated_month, 1, 4) || '-' || substr(stated_month, 5, 2) || '-01' as date)
    end as invoice_month,
    billing_currency,
    cast(sum(amount) as decimal(38, 12)) as invoiced_cost,
    cast(sum(line_count) as bigint) as line_count
from amounts
group by all

{{ config(materialized='by_month') }}

select
    source_name,
    payer_account_id,
    usage_month,
    case
        when {{ matches('invoice_month', '^[0-9]{4}(0[1-9]|1[0-2])$') }}
            then cast(substr(invoice_month, 1, 4) || '-' || substr(invoice_month, 5, 2) || '-01' as date)
    end as invoice_month,
    billing_currency,
    cast(sum({{ exact_sum(['cost', 'price_credit', 'promotion_credit'], 12) }}) as decimal(38, 12)) as invoiced_cost,
    cast(sum(line_count) as bigint) as line_count
from {{ ref('int_gcp_line_groups') }}
where is_book
group by all

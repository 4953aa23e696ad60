-- The book's sums per payer, month and currency are the control totals taken when the delivery was landed, lines counted too.
{{ config(meta={'dagster': {'ref': {'name': 'int_provider_cost_totals'}}}) }}
with landed as (
    select *, currency as billing_currency
    from {{ source('raw', 'delivery_totals') }}
    where kind in ('aws_cur', 'aws_focus', 'gcp_billing', 'gcp_focus')
),

loaded as (
    select source_name, payer_account_id, usage_month, billing_currency, billed_cost, line_count
    from {{ ref('int_provider_cost_totals') }}
    -- what another export states of the same money is compared with the book elsewhere
    where is_book

    union all

    select *, 0 as line_count from ({{ discounts_written_twice() }}) as discounts
)

{{ unequal_sums(
    'landed', 'loaded', 'source_name, payer_account_id, usage_month, billing_currency', ['billed_cost', 'line_count'], 12
) }}

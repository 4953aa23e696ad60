-- The book's sums per payer, month and currency are the control totals taken when the delivery was landed, lines counted too.
{{ config(meta={'dagster': {'ref': {'name': 'int_provider_cost_totals'}}}) }}
with landed as (
    select
        source_name, payer_account_id, usage_month, currency as billing_currency,
        cast(sum(billed_cost) as decimal(38, 12)) as billed_cost,
        cast(sum(line_count) as bigint) as line_count
    from {{ source('raw', 'delivery_totals') }}
    where kind in ('aws_cur', 'gcp_billing')
    group by source_name, payer_account_id, usage_month, currency
),

loaded as (
    select
        source_name, payer_account_id, usage_month, billing_currency,
        cast(sum(billed_cost) as decimal(38, 12)) as billed_cost,
        cast(sum(line_count) as bigint) as line_count
    from {{ ref('int_provider_cost_totals') }}
    -- what another export states of the same money is compared with the book elsewhere
    where is_book
    group by source_name, payer_account_id, usage_month, billing_currency
)

select
    source_name,
    payer_account_id,
    usage_month,
    billing_currency,
    landed.billed_cost as landed_billed_cost,
    loaded.billed_cost as loaded_billed_cost,
    landed.line_count as landed_line_count,
    loaded.line_count as loaded_line_count
from landed
full outer join loaded using (source_name, payer_account_id, usage_month, billing_currency)
where landed.billed_cost is distinct from loaded.billed_cost or landed.line_count is distinct from loaded.line_count

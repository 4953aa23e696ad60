-- What is published of a month with a bill ties to the control totals taken when its deliveries were landed: the whole way, from
-- the files to fct_reconciliation. Asked of every month: a bill that a build does not read must still be there.
{{ config(meta={'dagster': {'ref': {'name': 'fct_reconciliation'}}}) }}
with landed as (
    select source_name, payer_account_id, usage_month, currency as billing_currency, billed_cost
    from {{ source('raw', 'delivery_totals') }}
),

published as (
    select
        source_name, provider_name, payer_account_id, usage_month,
        unit_or_currency as billing_currency,
        provider_total as billed_cost
    from {{ ref('fct_reconciliation') }}
    where method = 'conservation' and measure = 'billed_cost'

    union all

    select source_name, 'AWS' as provider_name, payer_account_id, usage_month, billing_currency, billed_cost
    from ({{ discounts_written_twice() }}) as discounts
),

billed_months as (
    select distinct provider_name, usage_month from {{ source('raw', 'months') }}
    where is_bill_landed
),

published_months as (
    select distinct provider_name, usage_month, true as is_published from published
)

select source_name, payer_account_id, usage_month, billing_currency, landed_billed_cost, published_billed_cost
from (
    {{ unequal_sums('landed', 'published', 'source_name, payer_account_id, usage_month, billing_currency', ['billed_cost'], 12) }}
) as untied

union all

-- a month with a bill and without any cell
select
    provider_name as source_name, '' as payer_account_id, usage_month, '' as billing_currency,
    cast(null as decimal(38, 12)) as landed_billed_cost,
    cast(null as decimal(38, 12)) as published_billed_cost
from billed_months
left join published_months using (provider_name, usage_month)
where published_months.is_published is null

-- Every cent is on the invoice that its row names, or waits for one: by month of use all invoices are the ledger's bill, and by
-- invoice all months of use are what is published. The second looks at every invoice: a build of April may move that of May.
{{ config(meta={'dagster': {'ref': {'name': 'fct_reconciliation'}}}) }}
{%- set place = 'source_name, payer_account_id, billing_currency' %}
with used as (
    select *, invoiced_cost as billed_cost from {{ ref('int_gcp_invoice_months') }}
    where {{ of_built_months() }}
),

billed as (
    select * from {{ ref('int_provider_cost_totals') }}
    where provider_name = 'Google Cloud' and is_book and {{ of_built_months() }}
),

invoiced as (
    select source_name, payer_account_id, billing_currency, invoice_month, invoiced_cost from {{ ref('int_gcp_invoice_months') }}
    where invoice_month is not null
),

published as (
    select
        source_name, payer_account_id, unit_or_currency as billing_currency, usage_month as invoice_month,
        provider_total as invoiced_cost
    from {{ ref('fct_reconciliation') }}
    where measure = 'invoiced_cost'
)

select 'month of use' as what, source_name, payer_account_id, billing_currency, usage_month
from ({{ unequal_sums('used', 'billed', place ~ ', usage_month', ['billed_cost'], 12) }}) as months

union all

select 'invoice' as what, source_name, payer_account_id, billing_currency, invoice_month as usage_month
from ({{ unequal_sums('invoiced', 'published', place ~ ', invoice_month', ['invoiced_cost'], 12) }}) as invoices

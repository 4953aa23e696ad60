-- A SKU with the word TPU whose generation no spelling of int_gcp_skus finds: its cost is in the ledger, but its chips have no
-- type and runs on them no energy. Asked of every month, not of those just built: the alert ends when the spelling is known.
{{ config(severity='warn', meta={'dagster': {'ref': {'name': 'int_gcp_lines'}}}) }}
select
    sku_description,
    billing_currency,
    sum(line_count) as line_count,
    sum({{ exact_sum(['billed_cost', 'promotion_cost'], 12) }}) as billed_cost
from {{ ref('int_gcp_lines') }}
where is_unknown_tpu
group by sku_description, billing_currency
order by billed_cost desc, sku_description asc, billing_currency asc

-- discounts_ambiguous. A bill has net columns and discounts on rows of their own, and neither the net amounts of all rows nor
-- those of all rows but the discounts are what the rows add up to: whether a discount is counted twice cannot be known.
{{ config(meta={'dagster': {'ref': {'name': 'int_aws_net_discounts'}}}) }}
select
    'discounts_ambiguous' as reason,
    source_name,
    payer_account_id,
    invoicing_entity,
    usage_month,
    billing_currency,
    gross_cost,
    net_cost,
    net_cost_of_others
from {{ ref('int_aws_net_discounts') }}
where is_book and not is_counted_in_others and {{ of_built_months() }}

{% for kind in ['gcp_billing', 'gcp_focus'] %}
select
    _source_name as source_name,
    _source_object as source_object,
    line_number as row_number,
    _file_number * 4294967296 + line_number as position,
    _row_number as credit_row_number,
    -- a credit states these of its row itself, so a total by month or invoice joins nothing
    _is_book as is_book,
    billing_account_id as payer_account_id,
    cast(date_trunc('month', usage_start_time) as date) as usage_month,
    currency as billing_currency,
    nullif(invoice_month, '') as invoice_month,
    upper(coalesce(credit_type, '')) as credit_type,
    {{ to_exact('credit_amount', 12) }} as credit_amount,
    upper(coalesce(credit_type, '')) in (
        'COMMITTED_USAGE_DISCOUNT', 'COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE', 'SUSTAINED_USAGE_DISCOUNT', 'DISCOUNT',
        'SPENDING_BASED_DISCOUNT', 'SUBSCRIPTION_BENEFIT', 'FEE_UTILIZATION_OFFSET'
    ) as is_price
from {{ source('raw', kind) }}
where part = 'credit'
{{ 'union all' if not loop.last }}
{%- endfor %}

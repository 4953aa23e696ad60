{% for kind in ['gcp_billing', 'gcp_focus'] %}
select
    _source_name as source_name,
    _source_object as source_object,
    line_number as row_number,
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

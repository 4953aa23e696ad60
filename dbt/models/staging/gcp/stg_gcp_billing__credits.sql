-- One row per credit inside a Google Cloud billing row. Commitment and negotiated credits are the price of the usage; all others, also
-- kinds not known today, are promotions: in the bill, never in a comparison.
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
from {{ source('raw', 'gcp_billing') }}
where part = 'credit'

select
    quarter,
    provider_name,
    payer_account_id,
    payer_account_name,
    source_name,
    usage_month,
    has_bill,
    has_carbon
from {{ ref('payers_by_month') }}
{{ account_names('payer_account_id', 'payer_account_name') }}

select
    quarters.quarter, months.provider_name, months.payer_account_id, payer_account_names.payer_account_name,
    months.commitment_id, months.commitment_kind, months.usage_month, months.billing_currency,
    months.opening_cost, months.purchased_cost, months.refunded_cost,
    months.amortised_used_cost, months.amortised_unused_cost, months.closing_cost
from {{ ref('fct_prepaid') }} as months
{{ of_quarters() }}
{{ account_names('payer_account_id', 'payer_account_name') }}

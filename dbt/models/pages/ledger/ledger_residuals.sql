select usage_month, billing_currency, reason, cast(sum(effective_cost) as decimal(38, 12)) as effective_cost
from {{ source('ops', 'residual_months') }}
group by all

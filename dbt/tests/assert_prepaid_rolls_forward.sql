-- Each month opens with what the last one closed with, and the five movements explain the closing.
{{ config(meta={'dagster': {'ref': {'name': 'fct_prepaid'}}}) }}
with ordered as (
    select
        *,
        lag(closing_cost)
            over (partition by provider_name, payer_account_id, commitment_id, billing_currency order by usage_month)
            as last_closing_cost
    from {{ ref('fct_prepaid') }}
)

select *
from ordered
where
    opening_cost <> coalesce(last_closing_cost, 0)
    or closing_cost < 0
    or (opening_cost is null) <> (closing_cost is null)
    or closing_cost <> opening_cost + purchased_cost - refunded_cost - amortised_used_cost - amortised_unused_cost

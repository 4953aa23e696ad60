-- Each month opens with what the last one closed with, and the five movements explain the closing. Below 0 it is by roundings only.
{{ config(meta={'dagster': {'ref': {'name': 'fct_prepaid'}}}) }}
with roundings as (
    select
        provider_name,
        payer_account_id,
        commitment_id,
        billing_currency,
        200 * sum(stated_row_count) as rounding_units
    from {{ ref('int_commitment_flows') }}
    group by all
),

ordered as (
    select
        *,
        lag(closing_cost)
            over (partition by provider_name, payer_account_id, commitment_id, billing_currency order by usage_month)
            as last_closing_cost
    from {{ ref('fct_prepaid') }}
)

select ordered.*
from ordered
left join roundings using (provider_name, payer_account_id, commitment_id, billing_currency)
where
    opening_cost <> coalesce(last_closing_cost, 0)
    or {{ to_units('closing_cost', 12) }} < -coalesce(roundings.rounding_units, 0)
    or (opening_cost is null) <> (closing_cost is null)
    or closing_cost <> opening_cost + purchased_cost - refunded_cost - amortised_used_cost - amortised_unused_cost

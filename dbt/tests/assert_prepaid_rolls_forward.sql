-- Each month opens with what the last one closed with, and five movements explain the closing. Only roundings take it below 0.
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
    ordered.opening_cost <> coalesce(ordered.last_closing_cost, 0)
    or {{ to_units('ordered.closing_cost', 12) }} < -coalesce(roundings.rounding_units, 0)
    or (ordered.opening_cost is null) <> (ordered.closing_cost is null)
    or ordered.closing_cost
    <> {{ exact_sum([
        'ordered.opening_cost', 'ordered.purchased_cost', '-ordered.refunded_cost', '-ordered.amortised_used_cost',
        '-ordered.amortised_unused_cost'
    ], 12) }}

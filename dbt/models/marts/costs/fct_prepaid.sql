with flows as (
    select
        provider_name,
        commitment_id,
        max(commitment_kind) as commitment_kind,
        usage_month,
        billing_currency,
        {{ sums(['purchased_cost', 'refunded_cost', 'amortised_used_cost', 'amortised_unused_cost'], 12) }}
    from {{ ref('int_commitment_flows') }}
    group by all
),

balances as (
    select
        *,
        cast(sum(purchased_cost - refunded_cost - amortised_used_cost - amortised_unused_cost) over (
            partition by provider_name, commitment_id, billing_currency
            order by usage_month
            rows between unbounded preceding and current row
        ) as decimal(38, 12)) as closing_cost
    from flows
)

select
    provider_name,
    commitment_id,
    commitment_kind,
    usage_month,
    billing_currency,
    cast(closing_cost - purchased_cost + refunded_cost + amortised_used_cost + amortised_unused_cost as decimal(38, 12))
        as opening_cost,
    purchased_cost,
    refunded_cost,
    amortised_used_cost,
    amortised_unused_cost,
    closing_cost
from balances

with flows as (
    select
        provider_name,
        payer_account_id,
        commitment_id,
        max(commitment_kind) as commitment_kind,
        usage_month,
        billing_currency,
        {{ sums(['purchased_cost', 'refunded_cost', 'amortised_used_cost', 'amortised_unused_cost'], 12) }},
        sum(stated_row_count) as stated_row_count,
        min(bought_for) as first_bought_for,
        max(bought_for) as last_bought_for
    from {{ ref('int_commitment_flows') }}
    group by all
),

balances as (
    select
        *,
        cast(sum(
            {{ exact_sum(['purchased_cost', '-refunded_cost', '-amortised_used_cost', '-amortised_unused_cost'], 12) }}
        ) over (
            partition by provider_name, payer_account_id, commitment_id, billing_currency
            order by usage_month
            rows between unbounded preceding and current row
        ) as decimal(38, 12)) as closing_cost,
        -- AWS states amounts to ten places, at most four in a row (fee, net fee, commitment, used): each is off by half a unit
        cast(200 * sum(stated_row_count) over (
            partition by provider_name, payer_account_id, commitment_id, billing_currency
            order by usage_month
            rows between unbounded preceding and current row
        ) as decimal(38, 0)) as rounding_units,
        -- a block is bought in one month and used in later ones: what was bought is known from its purchase on
        min(first_bought_for) over (
            partition by provider_name, payer_account_id, commitment_id, billing_currency
            order by usage_month
            rows between unbounded preceding and current row
        ) as first_known_for,
        max(last_bought_for) over (
            partition by provider_name, payer_account_id, commitment_id, billing_currency
            order by usage_month
            rows between unbounded preceding and current row
        ) as last_known_for
    from flows
),

-- a commitment is of one payer
unknown_blocks as (
    select distinct 'AWS' as provider_name, block_arn as commitment_id, billing_currency
    from {{ ref('int_aws_capacity_blocks') }}
    where is_open_unknown
),

marked_balances as (
    select balances.*, unknown_blocks.commitment_id is not null as is_unknown_block
    from balances
    left join unknown_blocks using (provider_name, commitment_id, billing_currency)
),

known_balances as (
    select
        *,
        -- used up more than was bought: bought before the first landed month, and the amount is unknown
        min({{ to_units('closing_cost', 12) }} + rounding_units) over (
            partition by provider_name, payer_account_id, commitment_id, billing_currency
            order by usage_month
            rows between unbounded preceding and current row
        ) >= 0
        and not is_unknown_block as is_known,
        -- rows that name no commitment share one empty id: what several things were bought for is of none in particular
        case when first_known_for = last_known_for then first_known_for end as bought_for
    from marked_balances
)

select
    provider_name,
    payer_account_id,
    commitment_id,
    commitment_kind,
    usage_month,
    billing_currency,
    case when bought_for not in ('tpu', 'gpu') then bought_for end as accelerator_type,
    {{ accelerator_family('bought_for') }} as accelerator_family,
    case
        when is_known
            then {{ exact_sum(
                ['closing_cost', '-purchased_cost', 'refunded_cost', 'amortised_used_cost', 'amortised_unused_cost'], 12
            ) }}
    end as opening_cost,
    purchased_cost,
    refunded_cost,
    amortised_used_cost,
    amortised_unused_cost,
    case when is_known then closing_cost end as closing_cost
from known_balances

with fees as (
    select
        block_arn,
        billing_currency,
        sum(billed_cost) as fee_cost,
        max(reservation_started_at) as started_at,
        max(reservation_ended_at) as ended_at,
        max(coalesce(reservation_count, 1)) as instance_count
    from {{ ref('int_aws_block_lines') }}
    where is_block_fee
    group by all
),

hours as (
    select
        block_arn,
        billing_currency,
        max(charge_period_end) as billed_until,
        sum(billed_us) as billed_us
    from {{ ref('int_aws_block_lines') }}
    where is_usage
    group by all
)

select
    fees.block_arn || '|' || fees.billing_currency as charge_id,
    fees.block_arn,
    fees.billing_currency,
    cast(fees.fee_cost as decimal(38, 12)) as fee_cost,
    fees.started_at,
    fees.ended_at,
    -- hours of the term that no delivery shows yet: until the block's end is billed they stay prepaid
    cast(case
        when hours.billed_until >= fees.ended_at then 0
        else greatest(
            coalesce({{ microseconds('fees.started_at', 'fees.ended_at') }}, 0) * fees.instance_count
            - coalesce(hours.billed_us, 0),
            0
        )
    end as decimal(38, 0)) as open_us
from fees
left join hours using (block_arn, billing_currency)

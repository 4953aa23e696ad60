-- an extension has a fee of its own under the id of its block: each fee is of its own span of the reservation's time
with fees as (
    select
        block_arn,
        billing_currency,
        reservation_started_at as started_at,
        reservation_ended_at as ended_at,
        max(reservation_count) as stated_count,
        min(payer_account_id) as payer_account_id,
        min(case when billed_cost > 0 then cast(usage_month as string) || '|' || line_id end) as fee_line,
        cast(sum(billed_cost) as decimal(38, 12)) as fee_cost
    from {{ ref('int_aws_fees_and_hours') }}
    where is_block_fee
    group by all
),

-- what no fee of a block states, its owner or an answer of AWS may
dated_fees as (
    select
        fees.block_arn,
        fees.billing_currency,
        case
            when max(fees.started_at) over (partition by fees.block_arn, fees.billing_currency) is null then stated.started_at
            else fees.started_at
        end as started_at,
        case
            when max(fees.started_at) over (partition by fees.block_arn, fees.billing_currency) is null then stated.ended_at
            else fees.ended_at
        end as ended_at,
        fees.stated_count,
        fees.payer_account_id,
        fees.fee_line,
        fees.fee_cost,
        stated.instance_count as known_count,
        stated.paid_us
    from fees
    left join {{ ref('int_stated_capacities') }} as stated on {{ capacity_key('fees.block_arn') }} = stated.capacity_key
),

terms as (
    select
        block_arn,
        billing_currency,
        started_at,
        ended_at,
        row_number() over (partition by block_arn, billing_currency order by ended_at, started_at) as span_number,
        -- a fee that repeats the start of its reservation begins where the fee before it ends
        case
            when started_at > min(started_at) over (partition by block_arn, billing_currency) then started_at
            else coalesce(
                lag(ended_at) over (partition by block_arn, billing_currency order by ended_at, started_at), started_at
            )
        end as span_from
    from dated_fees
    where fee_cost > 0 and started_at is not null and ended_at is not null
),

-- a fee or refund without a term of its own is of the first span
spans as (
    select
        fees.block_arn,
        fees.billing_currency,
        coalesce(terms.span_number, 1) as span_number,
        cast(sum(fees.fee_cost) as decimal(38, 12)) as fee_cost,
        -- an extension is of the instances of its block
        coalesce(
            max(fees.known_count), max(max(fees.stated_count)) over (partition by fees.block_arn, fees.billing_currency)
        ) as stated_count,
        max(fees.paid_us) as paid_us,
        count(*) over (partition by fees.block_arn, fees.billing_currency) as span_count,
        min(fees.payer_account_id) as payer_account_id,
        min(fees.fee_line) as fee_line
    from dated_fees as fees
    left join terms using (block_arn, billing_currency, started_at, ended_at)
    group by fees.block_arn, fees.billing_currency, coalesce(terms.span_number, 1)
),

dated_spans as (
    select
        spans.*,
        terms.span_from as started_at,
        terms.ended_at,
        -- hours that lie between two spans are of the one before
        case when spans.span_number > 1 then terms.span_from end as hours_from,
        coalesce(
            lead(terms.span_from) over (partition by spans.block_arn, spans.billing_currency order by spans.span_number),
            terms.ended_at
        ) as hours_to
    from spans
    left join terms using (block_arn, billing_currency, span_number)
),

-- what is billed at one time: the block has at least so many instances, whether its fee states a number (perhaps of UltraServers)
-- or none
instants as (
    select
        block_arn,
        billing_currency,
        charge_period_start,
        max(charge_period_end) as billed_until,
        sum(billed_us) as billed_us,
        {{ int_div(
            'cast(sum(billed_us) + max(' ~ microseconds('charge_period_start', 'charge_period_end') ~ ') - 1 as decimal(38, 0))',
            'cast(greatest(max(' ~ microseconds('charge_period_start', 'charge_period_end') ~ '), 1) as decimal(38, 0))'
        ) }} as instance_count
    from {{ ref('int_aws_fees_and_hours') }}
    where is_usage
    group by block_arn, billing_currency, charge_period_start
),

blocks as (
    select block_arn, billing_currency, max(billed_until) as billed_until, max(instance_count) as instance_count
    from instants
    group by all
),

billed as (
    select spans.block_arn, spans.billing_currency, spans.span_number, sum(instants.billed_us) as billed_us
    from dated_spans as spans
    inner join instants
        on
            spans.block_arn = instants.block_arn
            and spans.billing_currency = instants.billing_currency
            and (spans.hours_from is null or instants.charge_period_start >= spans.hours_from)
            and (spans.hours_to is null or instants.charge_period_start < spans.hours_to)
    group by all
),

landed as (
    select payer_account_id, max(usage_month) as landed_month from {{ source('raw', 'months') }}
    where provider_name = 'AWS' and is_bill_landed
    group by all
),

open_spans as (
    select
        spans.*,
        -- instance time that was paid for and is on no bill
        greatest(
            case
                when spans.block_arn like '%:training-plan/%' and spans.span_count = 1 and spans.paid_us is not null
                    then spans.paid_us
                else coalesce({{ microseconds('spans.started_at', 'spans.ended_at') }}, 0)
                    * greatest(coalesce(spans.stated_count, 1), coalesce(blocks.instance_count, 1))
            end
            - coalesce(billed.billed_us, 0),
            0
        ) as unbilled_us,
        spans.block_arn like '%:training-plan/%' as is_plan,
        -- instances of a plan are stopped up to an hour before it ends
        coalesce(
            blocks.billed_until >= spans.ended_at
            or (
                spans.block_arn like '%:training-plan/%'
                and (blocks.billed_until >= spans.ended_at - interval 1 hour or landed.landed_month >= spans.ended_at)
            ),
            false
        ) as is_over,
        -- without a number of instances and without any hour nothing shows what of a begun block is used up
        spans.fee_cost > 0
        and spans.stated_count is null
        and blocks.block_arn is null
        and coalesce(spans.started_at < landed.landed_month + interval 1 month, true) as is_open_unknown
    from dated_spans as spans
    left join billed using (block_arn, billing_currency, span_number)
    left join blocks using (block_arn, billing_currency)
    left join landed using (payer_account_id)
)

select
    block_arn || '|' || billing_currency
    || case when span_number > 1 then '|' || cast(span_number as string) else '' end as charge_id,
    block_arn,
    billing_currency,
    fee_cost,
    started_at,
    ended_at,
    hours_from,
    hours_to,
    -- hours of the term that no delivery shows yet: until the block's end is billed they stay prepaid
    cast(case when is_over then 0 else unbilled_us end as decimal(38, 0)) as open_us,
    -- hours of a block that nobody used have rows; those of a plan, as far as is known, have none
    cast(case when is_over and is_plan and not is_open_unknown then unbilled_us else 0 end as decimal(38, 0)) as unused_us,
    cast(substr(fee_line, 1, 10) as date) as fee_month,
    substr(fee_line, 12) as fee_line_id,
    is_open_unknown
from open_spans

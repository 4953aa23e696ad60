{{ config(materialized='by_month') }}

with flows as (
    select
        {{ cell_of('lines') }},
        lines.billing_currency,
        lines.commitment_kind,
        lines.commitment_id,
        -- the purchase states what was bought, a block's hours too; a plan or a reservation may cover use of other types
        case when not lines.is_usage then nullif(lines.accelerator_name, '') end as bought_for,
        -- a discount of the purchase lowers it; whatever else comes back is a refund
        case
            when lines.billed_cost > 0 or lines.line_item_type like '%Discount' then lines.billed_cost
            else 0
        end as purchased_cost,
        case
            when lines.billed_cost < 0 and lines.line_item_type not like '%Discount' then -lines.billed_cost
            else 0
        end as refunded_cost,
        case when lines.is_usage then lines.effective_cost else 0 end as amortised_used_cost,
        case when not lines.is_usage then lines.effective_cost else 0 end as amortised_unused_cost,
        case when lines.commitment_kind = 'capacity_block' then 0 else lines.line_count end as stated_row_count
    from {{ ref('int_aws_lines') }} as lines
    where lines.commitment_kind is not null and lines.line_item_type <> 'SavingsPlanNegation'

    union all

    select
        {{ cell_of('lines') }},
        lines.billing_currency,
        'capacity_block' as commitment_kind,
        shares.block_arn as commitment_id,
        nullif(lines.accelerator_name, '') as bought_for,
        0 as purchased_cost,
        0 as refunded_cost,
        case when lines.is_usage and not lines.is_unused_reservation then shares.effective_cost else 0 end as amortised_used_cost,
        case
            when lines.is_usage and not lines.is_unused_reservation then 0
            else shares.effective_cost
        end as amortised_unused_cost,
        0 as stated_row_count
    from {{ ref('int_aws_block_shares') }} as shares
    inner join {{ ref('int_aws_lines') }} as lines using (usage_month, line_id)

    union all

    -- Google Cloud bills a commitment month by month: a fee with an offset is all waste, an amortised one comes back as shares
    select
        {{ cell() }},
        billing_currency,
        'committed_use' as commitment_kind,
        commitment_id,
        nullif(accelerator_name, '') as bought_for,
        case when billed_cost > 0 then billed_cost else 0 end as purchased_cost,
        case when billed_cost < 0 then -billed_cost else 0 end as refunded_cost,
        0 as amortised_used_cost,
        case when is_amortised_fee then 0 else billed_cost end as amortised_unused_cost,
        0 as stated_row_count
    from {{ ref('int_gcp_lines') }}
    where is_commitment_fee

    union all

    select
        {{ cell_of('lines') }},
        lines.billing_currency,
        'committed_use' as commitment_kind,
        shares.commitment_id,
        cast(null as string) as bought_for,
        0 as purchased_cost,
        0 as refunded_cost,
        case when shares.is_used then shares.effective_cost else 0 end as amortised_used_cost,
        case when shares.is_used then 0 else shares.effective_cost end as amortised_unused_cost,
        0 as stated_row_count
    from {{ ref('int_gcp_commitment_shares') }} as shares
    inner join {{ ref('int_gcp_lines') }} as lines using (usage_month, line_id)
)

select
    {{ cell() }},
    billing_currency,
    commitment_kind,
    commitment_id,
    bought_for,
    {{ sums(['purchased_cost', 'refunded_cost', 'amortised_used_cost', 'amortised_unused_cost'], 12) }},
    sum(stated_row_count) as stated_row_count
from flows
group by all

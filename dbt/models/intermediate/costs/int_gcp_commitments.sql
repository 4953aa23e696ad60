{{ config(materialized='by_month') }}

with fees as (
    select
        *,
        {{ cell_id() }} || '|' || billing_currency || '|' || instance_type || '|' || cast(is_accelerator_type as string)
        || '|' || pricing_unit || '|' || originating_sku_id || '|' || commitment_id as charge_id,
        -- a spend-based fee is billed by the SKU it pays for; in a bill that names SKUs at all, the row that names none is what
        -- nobody used
        is_spend_based_fee and originating_sku_id = '' and max(originating_sku_id) over (
            partition by source_name, payer_account_id, billing_currency, usage_month
        ) <> '' as is_unused
    from {{ ref('int_gcp_lines') }}
    where is_commitment_fee and {{ in_build_months() }}
)

select
    charge_id,
    {{ cell() }},
    billing_currency,
    commitment_id,
    max(subscription_id) as subscription_id,
    instance_type,
    is_accelerator_type,
    pricing_unit,
    bool_or(is_spend_based_fee) as is_spend_based,
    originating_sku_id,
    bool_or(is_unused) as is_unused,
    cast(sum(billed_cost) as decimal(38, 12)) as fee_cost,
    cast(greatest(sum({{ to_units('coalesce(priced_usage, 0)', 9) }}), 0) as decimal(38, 0)) as committed_units,
    -- the row that shows what of the fee was not used: any of them, as they are of one cell and for one reason
    min(line_id) as first_line_id
from fees
where is_amortised_fee
group by all

{{ config(materialized='by_month') }}

with classified_lines as (
    select
        lines.*,
        skus.instance_type,
        skus.gpu_type,
        skus.purchase_mode,
        skus.is_accelerator_type,
        skus.is_unknown_tpu,
        skus.is_support,
        skus.cost_component as sku_component,
        {{ gcp_is_goodwill('lines') }} as is_goodwill,
        {{ gcp_is_commitment_fee('lines', 'skus') }} as is_commitment_fee,
        -- money an hour was committed to, not an amount of one resource; only these have fees under another name
        lower(lines.sku_description) like 'commitment - dollar%' or not skus.is_commitment as is_spend_based,
        {{ gcp_is_usage('lines', 'skus') }} as is_usage,
        {{ exact_sum(
            ['-lines.resource_credit', "-case when skus.instance_type <> '' then lines.spend_credit else 0 end"], 12
        ) }} as taken_off
    from {{ ref('int_gcp_project_lines') }} as lines
    inner join {{ ref('int_gcp_skus') }} as skus using (service_code, service_description, sku_description)
    where lines.is_book
),

lines_with_commitment as (
    select
        *,
        case when is_commitment_fee then coalesce(subscription_id, sku_id || '|' || sub_account_id) end as commitment_id
    from classified_lines
),

-- the few rows that pay for commitments: a window over all lines would be one task for an account's month
offset_commitments as (
    select distinct usage_month, source_name, payer_account_id, billing_currency, commitment_id, true as has_offset
    from lines_with_commitment
    where is_commitment_fee and has_fee_offset
),

lines_with_offset as (
    select lines.*, coalesce(offset_commitments.has_offset, false) as has_offset
    from lines_with_commitment as lines
    left join offset_commitments
        on
            lines.usage_month = offset_commitments.usage_month
            and lines.source_name = offset_commitments.source_name
            and lines.payer_account_id = offset_commitments.payer_account_id
            and lines.billing_currency = offset_commitments.billing_currency
            and lines.commitment_id = offset_commitments.commitment_id
)

select
    source_name || '|' || source_object || '|' || cast(row_number as string) as line_id,
    {{ cell() }}, delivery_content_hash, source_object, row_number,
    charge_period_start, charge_period_end, billing_currency, sku_id, sku_description,
    coalesce(resource_name, resource_path_end) as resource_id,
    case when resource_name <> resource_path_end then resource_path_end end as other_resource_id,
    job_id,
    machine_place,
    {{ cluster_columns() | join(', ') }},
    instance_type,
    gpu_type,
    -- of a commitment whose SKU names no type that we know, at least what kind of accelerator it is for
    case
        when not is_accelerator_type then ''
        when instance_type <> '' then instance_type
        when gpu_type <> '' then gpu_type
        when not is_commitment_fee then ''
        when is_unknown_tpu then 'tpu'
        else 'gpu'
    end as accelerator_name,
    purchase_mode,
    run_tag,
    invoice_month is not null as has_invoice,
    is_usage, is_accelerator_type,
    -- time of accelerators that Google bills at 0, with nothing that takes a price away
    is_usage
    and sku_component = 'accelerator'
    and has_usage_amount
    and cost = 0
    and price_credit = 0
    and not has_commitment_credit
    and subscription_id is null as is_unpriced,
    is_unknown_tpu, subscription_id, has_commitment_credit, has_resource_credit,
    cast(spend_credit as decimal(38, 12)) as spend_credit,
    priced_usage,
    pricing_unit,
    -- of an hour's usage a commitment may cover a part: as much as its credit took off the cost, at 1e-9
    case
        when taken_off > 0 and taken_off < cost then {{ from_units(int_div(
            'cast(' ~ quick_units('taken_off', 12) ~ ' * 1000000000 as decimal(38,0))', quick_units('cost', 12)
        ), 9) }}
        else cast(1 as decimal(38, 9))
    end as committed_ratio,
    commitment_id,
    is_commitment_fee,
    is_commitment_fee and is_spend_based as is_spend_based_fee,
    originating_sku_id,
    -- a fee with an offset already left its used part to the discounted usage rows; what remains of it is waste.
    -- One offset in the month counts for all fee rows of the commitment: an hour without use has none. Rows of committed spend
    -- count one by one,
    -- for what was not used is a row of its own: so a month may begin in the old model and end in the new one.
    is_commitment_fee and not case when is_spend_based then has_fee_offset else has_offset end as is_amortised_fee,
    case
        when cost_type in ('tax', 'rounding_error') or is_support or is_commitment_fee then 'fee'
        when is_goodwill then 'credit'
        else sku_component
    end as cost_component,
    {{ exact_sum(['cost', 'price_credit'], 12) }} as billed_cost,
    has_promotion,
    cast(promotion_credit as decimal(38, 12)) as promotion_cost,
    line_count,
    case when is_usage then cost_at_list else cast(0 as decimal(38, 12)) end as list_cost,
    case when is_usage then coalesce(cost_at_contract, cost) else cast(0 as decimal(38, 12)) end as contracted_cost,
    -- what a row that no run holds is left with, where its kind alone decides
    case
        when cost_type = 'tax' then 'tax'
        when cost_type = 'rounding_error' then 'rounding'
        when is_support then 'support'
        when is_goodwill then 'credit'
        when is_commitment_fee then 'unused_commitment'
        when is_usage and is_unused_reservation then 'unused_commitment'
        when not is_usage then 'provider_adjustment'
    end as fixed_reason
from lines_with_offset

{{ config(materialized='view') }}

select
    lines.line_id,
    lines.line_id as attribution_line_id,
    lines.provider_name,
    lines.source_name,
    lines.payer_account_id,
    lines.sub_account_id,
    lines.service_code,
    lines.region_id,
    lines.usage_month,
    lines.charge_period_start,
    lines.charge_period_end,
    lines.billing_currency,
    lines.resource_id,
    cast(null as string) as other_resource_id,
    -- SageMaker bills a job under its ARN
    lines.resource_id as job_id,
    lines.instance_type,
    lines.run_tag,
    lines.has_invoice,
    lines.is_usage as is_part_of_usage,
    lines.is_usage,
    lines.is_discount,
    lines.is_accelerator_type,
    shares.line_id is not null as is_block_hour,
    lines.billed_us,
    lines.cost_component,
    lines.billed_cost,
    {{ exact_sum(['lines.effective_cost', 'coalesce(shares.effective_cost, 0)'], 12) }} as effective_cost,
    -- a block hour has no list price
    case when shares.line_id is null then lines.list_cost end as list_cost,
    -- AWS bills do not give a contracted cost
    cast(null as decimal(38, 12)) as contracted_cost,
    case
        when not lines.is_usage then cast(0 as decimal(38, 12))
        when shares.line_id is not null or lines.list_cost is null
            then {{ exact_sum(['lines.effective_cost', 'coalesce(shares.effective_cost, 0)'], 12) }}
        else lines.list_cost
    end as weight,
    -- a block hour's weight is its share of the fee by rule; a line without a list price only borrows its effective cost
    lines.is_usage and lines.list_cost is null and shares.line_id is null as is_weight_borrowed,
    coalesce(lines.fixed_reason, case when lines.is_unused_reservation and lines.is_usage then 'unused_commitment' end)
        as fixed_reason
from {{ ref('int_aws_lines') }} as lines
left join {{ ref('int_aws_block_shares') }} as shares on lines.line_id = shares.line_id
-- a negation cancels its covered usage; what of the two does not cancel is int_saving_plan_roundings
where lines.line_item_type <> 'SavingsPlanNegation'

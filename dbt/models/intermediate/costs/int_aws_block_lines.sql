{{ config(materialized='by_month') }}

select
    usage_month,
    line_id,
    source_name,
    payer_account_id,
    sub_account_id,
    region_id,
    case when is_block_fee then commitment_id else block_arn end as block_arn,
    billing_currency,
    is_block_fee,
    is_usage,
    billed_cost,
    source_object,
    row_number,
    charge_period_start,
    charge_period_end,
    cast(coalesce(billed_us, {{ microseconds('charge_period_start', 'charge_period_end') }}) as decimal(38, 0)) as billed_us,
    {{ aws_is_reserved_time('usage_type') }} as is_reserved_time,
    accelerator_name,
    resource_id,
    reservation_started_at,
    reservation_ended_at,
    reservation_count
from {{ ref('int_aws_lines') }}
where
    is_block_fee
    or (is_usage and block_arn is not null)
    -- a plan may have paid for what SageMaker bills at 0
    or (is_unpriced and service_code = 'AmazonSageMaker')

{%- set unblended -%}
coalesce({{ to_exact('line_item_net_unblended_cost', 12) }}, {{ to_exact('line_item_unblended_cost', 12) }})
{%- endset %}

with renamed as (
    select
        _source_name as source_name,
        'AWS' as provider_name,
        _source_object as source_object,
        _row_number as row_number,
        _is_book as is_book,
        bill_payer_account_id as payer_account_id,
        nullif(bill_payer_account_name, '') as payer_account_name,
        line_item_usage_account_id as sub_account_id,
        nullif(line_item_usage_account_name, '') as account_name,
        coalesce(line_item_product_code, '') as service_code,
        nullif({{ map_get('product', 'product_name') }}, '') as service_name,
        coalesce(
            {{ aws_region('product_region_code') }},
            {{ aws_region(map_get('product', 'region_code')) }},
            {{ aws_region(map_get('product', 'region')) }},
            nullif(regexp_extract(line_item_availability_zone, '^([a-z]+(-[a-z]+)+-[0-9]+)', 1), '')
        ) as stated_region_id,
        cast(date_trunc('month', line_item_usage_start_date) as date) as usage_month,
        line_item_usage_start_date as charge_period_start,
        line_item_usage_end_date as charge_period_end,
        line_item_currency_code as billing_currency,
        line_item_line_item_type as line_item_type,
        coalesce(line_item_operation in ('EKSPod-EC2', 'ECSTask-EC2'), false) as is_pod,
        coalesce(line_item_usage_type, '') as usage_type,
        coalesce(product_product_family, {{ map_get('product', 'product_family') }}, '') as product_family,
        coalesce(product_servicecode, '') as product_service_code,
        nullif(line_item_resource_id, '') as resource_id,
        coalesce(line_item_line_item_description, '') as charge_description,
        nullif(bill_invoice_id, '') as invoice_id,
        lower(coalesce(pricing_unit, '')) as pricing_unit,
        -- only hours are read from it: what an exact number cannot hold is no number of hours, and no money
        case
            when abs(coalesce(cast(line_item_usage_amount__text as double), line_item_usage_amount)) < 1e12
                then {{ to_exact('line_item_usage_amount', 12) }}
        end as usage_amount,
        {{ unblended }} as unblended_cost,
        {{ to_exact('line_item_unblended_cost', 12) }} as gross_unblended_cost,
        {{ to_exact('pricing_public_on_demand_cost', 12) }} as public_on_demand_cost,
        -- a row of a commitment may name it as its resource only
        coalesce(
            nullif(reservation_reservation_a_r_n, ''),
            case
                when {{ matches('line_item_resource_id', '^arn:([^:]*:){4}(reserved-instances/|ri:|reserved-instance:)') }}
                    then line_item_resource_id
            end
        ) as reservation_arn,
        coalesce({{ to_exact('reservation_net_effective_cost', 12) }}, {{ to_exact('reservation_effective_cost', 12) }})
            as reservation_effective_cost,
        coalesce(
            {{ to_exact('reservation_net_unused_amortized_upfront_fee_for_billing_period', 12) }},
            {{ to_exact('reservation_unused_amortized_upfront_fee_for_billing_period', 12) }}
        ) as reservation_unused_upfront_cost,
        coalesce(
            {{ to_exact('reservation_net_unused_recurring_fee', 12) }}, {{ to_exact('reservation_unused_recurring_fee', 12) }}
        ) as reservation_unused_recurring_cost,
        try_cast(reservation_start_time as timestamp) as reservation_started_at,
        try_cast(reservation_end_time as timestamp) as reservation_ended_at,
        try_cast(reservation_number_of_reservations as bigint) as reservation_count,
        coalesce(
            nullif(savings_plan_savings_plan_a_r_n, ''),
            case when line_item_resource_id like 'arn:%:savingsplan/%' then line_item_resource_id end
        ) as savings_plan_arn,
        coalesce(
            {{ to_exact('savings_plan_net_savings_plan_effective_cost', 12) }},
            {{ to_exact('savings_plan_savings_plan_effective_cost', 12) }}
        ) as savings_plan_effective_cost,
        {{ to_exact('savings_plan_total_commitment_to_date', 12) }} as savings_plan_commitment_to_date,
        {{ to_exact('savings_plan_used_commitment', 12) }} as savings_plan_used_commitment,
        nullif(capacity_reservation_capacity_reservation_arn, '') as capacity_reservation_arn,
        lower(coalesce(capacity_reservation_capacity_reservation_status, '')) as capacity_reservation_status,
        _run_tag as run_tag
    from {{ source('raw', 'aws_cur') }}
)

select
    *,
    regexp_extract(usage_type, '^([A-Z]{2,5}[0-9]{0,2})-', 1) as usage_type_prefix,
    replace(regexp_extract(usage_type, ':([^:]*)$', 1), 'ml.', '') as instance_type,
    -- a covered line shows its on-demand cost and a negation takes it away again: neither is on the invoice
    case
        when line_item_type in ('SavingsPlanCoveredUsage', 'SavingsPlanNegation') and not is_pod then cast(0 as decimal(38, 12))
        else unblended_cost
    end as billed_cost,
    service_code like '%Support%' as is_support,
    -- AWS bills transfer under the service it leaves, with the family or the service of transfer beside it; where an export lacks
    -- both columns the usage type says it. Bytes alone do not: DataProcessing-Bytes are logs, Select-Scanned-Bytes a query
    product_family = 'Data Transfer'
    or 'AWSDataTransfer' in (service_code, product_service_code)
    or {{ matches('usage_type', '(DataTransfer|(AWS|CloudFront)-(In|Out)-[A-Z]?Bytes|NatGateway)') }} as is_data_transfer,
    -- without its reservation a block fee cannot be laid onto hours and stays a plain fee; tax on it and a credit for it never
    -- reach a run
    usage_type like '%CapacityBlockFee%'
    and reservation_arn is not null
    and line_item_type not in ('Tax', 'Credit') as is_block_fee
from renamed

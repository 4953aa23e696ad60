select
    _source_name as source_name,
    'AWS' as provider_name,
    _delivery_content_hash as delivery_content_hash,
    _source_object as source_object,
    _row_number as row_number,
    -- which of two rows comes first: by object, then by row
    _file_number * 4294967296 + _row_number as position,
    _is_book as is_book,
    bill_payer_account_id as payer_account_id,
    nullif(bill_payer_account_name, '') as payer_account_name,
    line_item_usage_account_id as sub_account_id,
    nullif(line_item_usage_account_name, '') as account_name,
    coalesce(line_item_product_code, '') as service_code,
    nullif({{ map_get('product', 'product_name') }}, '') as service_name,
    -- a case, so that the map is searched only where the column has nothing
    case
        when product_region_code <> '' then {{ aws_region('product_region_code') }}
        else coalesce(
            {{ aws_region(map_get('product', 'region_code')) }},
            {{ aws_region(map_get('product', 'region')) }},
            nullif(regexp_extract(line_item_availability_zone, '^([a-z]+(-[a-z]+)+-[0-9]+)', 1), '')
        )
    end as stated_region_id,
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
    coalesce(bill_invoicing_entity, '') as invoicing_entity,
    coalesce(pricing_unit, '') as pricing_unit,
    line_item_usage_amount as usage_amount,
    line_item_usage_amount__text as usage_amount__text,
    {{ first_number('unblended_cost', 'line_item_net_unblended_cost', 'line_item_unblended_cost') }},
    line_item_unblended_cost as gross_unblended_cost,
    line_item_unblended_cost__text as gross_unblended_cost__text,
    pricing_public_on_demand_cost as public_on_demand_cost,
    pricing_public_on_demand_cost__text as public_on_demand_cost__text,
    -- a row of a commitment may name it as its resource only
    coalesce(
        nullif(reservation_reservation_a_r_n, ''),
        case
            when
                line_item_resource_id like 'arn:%'
                and {{ matches('line_item_resource_id', '^arn:([^:]*:){4}(reserved-instances/|ri:|reserved-instance:)') }}
                then line_item_resource_id
        end
    ) as reservation_arn,
    {{ first_number('reservation_effective_cost', 'reservation_net_effective_cost', 'reservation_effective_cost') }},
    {{ first_number(
        'reservation_unused_upfront_cost',
        'reservation_net_unused_amortized_upfront_fee_for_billing_period',
        'reservation_unused_amortized_upfront_fee_for_billing_period'
    ) }},
    {{ first_number(
        'reservation_unused_recurring_cost', 'reservation_net_unused_recurring_fee', 'reservation_unused_recurring_fee'
    ) }},
    reservation_start_time as reservation_started_at,
    reservation_end_time as reservation_ended_at,
    reservation_number_of_reservations as reservation_count,
    coalesce(
        nullif(savings_plan_savings_plan_a_r_n, ''),
        case when line_item_resource_id like 'arn:%:savingsplan/%' then line_item_resource_id end
    ) as savings_plan_arn,
    {{ first_number(
        'savings_plan_effective_cost', 'savings_plan_net_savings_plan_effective_cost', 'savings_plan_savings_plan_effective_cost'
    ) }},
    savings_plan_total_commitment_to_date as savings_plan_commitment_to_date,
    savings_plan_total_commitment_to_date__text as savings_plan_commitment_to_date__text,
    savings_plan_used_commitment,
    savings_plan_used_commitment__text,
    nullif(capacity_reservation_capacity_reservation_arn, '') as capacity_reservation_arn,
    coalesce(capacity_reservation_capacity_reservation_status, '') as capacity_reservation_status,
    _run_tag as run_tag
from {{ source('raw', 'aws_cur') }}

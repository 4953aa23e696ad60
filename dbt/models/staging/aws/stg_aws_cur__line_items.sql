{#- 1.0 has a usage type of AWS's own, which 1.2 has as SkuMeter -#}
{%- set usage_type = "coalesce(nullif(x_usagetype, ''), skumeter, '')" -%}
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
    coalesce(bill_invoice_id, '') <> '' as has_invoice,
    coalesce(bill_invoicing_entity, '') as invoicing_entity,
    coalesce(pricing_unit, '') as pricing_unit,
    line_item_usage_amount as usage_amount,
    line_item_usage_amount__text as usage_amount__text,
    {{ first_number('unblended_cost', 'line_item_net_unblended_cost', 'line_item_unblended_cost') }},
    line_item_unblended_cost as gross_unblended_cost,
    line_item_unblended_cost__text as gross_unblended_cost__text,
    pricing_public_on_demand_cost as public_on_demand_cost,
    pricing_public_on_demand_cost__text as public_on_demand_cost__text,
    -- AWS bills do not give a contracted cost, FOCUS does
    cast(null as double) as contracted_cost,
    cast(null as string) as contracted_cost__text,
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
    _run_tag as run_tag,
    line_count
from {{ source('raw', 'aws_cur') }}

union all

select
    _source_name as source_name,
    'AWS' as provider_name,
    _delivery_content_hash as delivery_content_hash,
    _source_object as source_object,
    _row_number as row_number,
    _file_number * 4294967296 + _row_number as position,
    _is_book as is_book,
    billingaccountid as payer_account_id,
    nullif(billingaccountname, '') as payer_account_name,
    -- tax may be of no account but the payer's own
    coalesce(nullif(subaccountid, ''), billingaccountid) as sub_account_id,
    nullif(subaccountname, '') as account_name,
    coalesce(nullif(x_servicecode, ''), servicename, '') as service_code,
    nullif(servicename, '') as service_name,
    coalesce(
        {{ aws_region('regionid') }},
        nullif(regexp_extract(availabilityzone, '^([a-z]+(-[a-z]+)+-[0-9]+)', 1), '')
    ) as stated_region_id,
    cast(date_trunc('month', chargeperiodstart) as date) as usage_month,
    chargeperiodstart as charge_period_start,
    chargeperiodend as charge_period_end,
    billingcurrency as billing_currency,
    {{ focus_line_item_type() }} as line_item_type,
    coalesce(x_operation in ('EKSPod-EC2', 'ECSTask-EC2'), false) as is_pod,
    {{ usage_type }} as usage_type,
    -- of transfer the usage type alone states what it is
    '' as product_family,
    '' as product_service_code,
    nullif(resourceid, '') as resource_id,
    coalesce(chargedescription, '') as charge_description,
    -- FOCUS 1.0 has no numbers of invoices, and no type of account: its months close by time alone
    billingaccounttype is null or coalesce(invoiceid, '') <> '' as has_invoice,
    coalesce(invoiceissuername, '') as invoicing_entity,
    coalesce(consumedunit, '') as pricing_unit,
    consumedquantity as usage_amount,
    consumedquantity__text as usage_amount__text,
    -- BilledCost is after discounts, and FOCUS has no cost before them
    billedcost as unblended_cost,
    billedcost__text as unblended_cost__text,
    billedcost as gross_unblended_cost,
    billedcost__text as gross_unblended_cost__text,
    listcost as public_on_demand_cost,
    listcost__text as public_on_demand_cost__text,
    contractedcost as contracted_cost,
    contractedcost__text as contracted_cost__text,
    case
        when {{ focus_commitment('reserv') }} then nullif(commitmentdiscountid, '')
        when {{ usage_type }} like '%CapacityBlockFee%'
            then coalesce(
                nullif(capacityreservationid, ''), case when resourceid like '%:capacity-reservation/%' then resourceid end
            )
    end as reservation_arn,
    -- what a row of a commitment costs over its term is EffectiveCost, used or not: a purchase has 0 there
    effectivecost as reservation_effective_cost,
    effectivecost__text as reservation_effective_cost__text,
    cast(null as double) as reservation_unused_upfront_cost,
    cast(null as string) as reservation_unused_upfront_cost__text,
    effectivecost as reservation_unused_recurring_cost,
    effectivecost__text as reservation_unused_recurring_cost__text,
    cast(null as string) as reservation_started_at,
    cast(null as string) as reservation_ended_at,
    cast(null as string) as reservation_count,
    case when {{ focus_commitment('savings') }} then nullif(commitmentdiscountid, '') end as savings_plan_arn,
    effectivecost as savings_plan_effective_cost,
    effectivecost__text as savings_plan_effective_cost__text,
    effectivecost as savings_plan_commitment_to_date,
    effectivecost__text as savings_plan_commitment_to_date__text,
    cast(0 as double) as savings_plan_used_commitment,
    cast(null as string) as savings_plan_used_commitment__text,
    nullif(capacityreservationid, '') as capacity_reservation_arn,
    coalesce(capacityreservationstatus, '') as capacity_reservation_status,
    _run_tag as run_tag,
    cast(null as bigint) as line_count
from {{ source('raw', 'aws_focus') }}

-- The rows of one part, in CUR 2.0's names; what is not named here is null in this bill. `part` is drawn, so a series lies in
-- all of them.
select
    -- bill
    'Anniversary' as bill_bill_type,
    'AWS' as bill_billing_entity,
    getvariable('month') as bill_billing_period_start_date,
    getvariable('month') + interval 1 month as bill_billing_period_end_date,
    getvariable('invoice') as bill_invoice_id,
    'Amazon Web Services, Inc. (synthetic)' as bill_invoicing_entity,
    getvariable('payer') as bill_payer_account_id,
    'Benchmark payer (synthetic)' as bill_payer_account_name,
    -- identity: equal for all hours of a series
    s.line_id as identity_line_item_id,
    strftime(l.starts, '%Y-%m-%dT%H:%M:%SZ') || '/' || strftime(l.ends, '%Y-%m-%dT%H:%M:%SZ') as identity_time_interval,
    -- line
    a.account_id as line_item_usage_account_id,
    a.account_name as line_item_usage_account_name,
    case s.family
        when 'negation' then 'SavingsPlanNegation' when 'plan_fee' then 'SavingsPlanRecurringFee' when 'reserved_fee' then 'RIFee'
        when 'block_fee' then 'Fee' when 'support' then 'Fee' when 'tax' then 'Tax' when 'credit' then 'Credit'
            when 'refund' then 'Refund'
        else case s.purchase when 'plan' then 'SavingsPlanCoveredUsage' when 'reserved' then 'DiscountedUsage' else 'Usage' end
    end as line_item_line_item_type,
    l.starts as line_item_usage_start_date,
    l.ends as line_item_usage_end_date,
    s.product_code as line_item_product_code,
    s.usage_type as line_item_usage_type,
    s.operation as line_item_operation,
    s.zone as line_item_availability_zone,
    s.resource_id || case when getvariable('apart') then '-' || s.series_id || '-' || epoch(l.starts) else '' end as line_item_resource_id,
    l.amount as line_item_usage_amount,
    'USD' as line_item_currency_code,
    cast(s.rate as varchar) as line_item_unblended_rate,
    cast(s.rate as varchar) as line_item_blended_rate,
    l.cost as line_item_unblended_cost,
    l.cost as line_item_blended_cost,
    case when s.family in ('plan_fee', 'negation') or s.purchase = 'plan' then l.cost else round(l.cost * 0.94,
        10) end as line_item_net_unblended_cost,
    case when s.instance_type is not null then cast(s.rate * 0.94 as varchar) end as line_item_net_unblended_rate,
    case when s.instance_type is not null then 1.0 + s.series_id % 8 end as line_item_normalization_factor,
    case when s.instance_type is not null then l.amount * (1.0 + s.series_id % 8) end as line_item_normalized_usage_amount,
    case when s.rate is null or s.family in ('tax', 'credit', 'refund', 'support') then s.what
        else '$' || cast(round(s.rate,
            10) as varchar) || ' per ' || s.what || ' in ' || s.place end as line_item_line_item_description,
    'Amazon Web Services, Inc. (synthetic)' as line_item_legal_entity,
    case s.family when 'tax' then 'VAT' end as line_item_tax_type,
    -- prices
    'USD' as pricing_currency,
    l.list as pricing_public_on_demand_cost,
    cast(s.rate as varchar) as pricing_public_on_demand_rate,
    case when s.unit is not null then upper(left(s.code, 16)) || '.JRTCKXETXF.6YS6EN2CT7' end as pricing_rate_code,
    case when s.unit is not null then cast(hash(s.code) % 100000000000 as varchar) end as pricing_rate_id,
    -- half a bill's free rows say no term
    case when s.tier = 1 or s.family in ('tax', 'credit', 'refund', 'support') then null
        when s.purchase = 'reserved' then 'Reserved' when s.purchase = 'spot' then 'Spot' else 'OnDemand' end
        as pricing_term,
    s.unit as pricing_unit,
    case s.purchase when 'reserved' then 'No Upfront' end as pricing_purchase_option,
    case s.purchase when 'reserved' then 'standard' end as pricing_offering_class,
    case s.purchase when 'reserved' then '1yr' end as pricing_lease_contract_length,
    -- product: a transfer row has its region in the map only, a Spot row no instance type
    case
        when s.family in ('tax', 'credit', 'refund', 'support', 'plan_fee') then map {'product_name': s.product_name}
        when s.product_family = 'Data Transfer' then map {
            'product_name': s.product_name, 'region': s.region_id, 'servicename': 'AWS Data Transfer',
            'transfer_type': case s.to_region when '' then 'IntraRegion' else 'InterRegion Outbound' end, 'group': s.group_name}
        when s.instance_type is not null then map {
            'product_name': s.product_name, 'region': s.region_id, 'servicename': s.product_name,
                'vcpu': cast(s.series_id % 8 * 8 as varchar), 'memory': '64 GiB',
            'tenancy': 'Shared', 'operating_system': 'Linux', 'physical_processor': 'Intel Xeon',
                'marketoption': case s.purchase when 'block' then 'CapacityBlock' else 'OnDemand' end}
        else map {'product_name': s.product_name, 'region': s.region_id, 'servicename': s.product_name, 'group': s.group_name,
            'group_description': s.what, 'usage_family': s.product_family}
    end as product,
    case when s.purchase <> 'spot' then s.instance_type end as product_instance_type,
    s.instance_family as product_instance_family,
    case when s.instance_type is not null then upper(left(md5(s.instance_type), 16)) end as product_instancesku,
    case when s.product_family <> 'Data Transfer' then s.place end as product_location,
    case when s.product_family <> 'Data Transfer' then 'AWS Region' end as product_location_type,
    case when s.product_family = 'Data Transfer' then s.place end as product_from_location,
    case when s.product_family = 'Data Transfer' then 'AWS Region' end as product_from_location_type,
    case when s.product_family = 'Data Transfer' then s.region_id end as product_from_region_code,
    nullif(s.to_region, '') as product_to_region_code,
    case when s.to_region <> '' then 'AWS Region' end as product_to_location_type,
    s.operation as product_operation,
    s.unit as product_pricing_unit,
    s.product_family as product_product_family,
    case when s.product_family <> 'Data Transfer' then s.region_id end as product_region_code,
    s.service_code as product_servicecode,
    case when s.unit is not null then upper(left(s.code, 16)) end as product_sku,
    s.usage_type as product_usagetype,
    -- evidence
    case
        when s.tag_set is null and l.run_tag is null then map([]::varchar[], []::varchar[])
        else map_concat(
            case when s.tag_set is null then map([]::varchar[], []::varchar[]) else map {
                'user_application': 'app-' || s.tag_set // 4, 'user_environment': ['dev', 'prod', 'stage',
                    'test'][1 + s.tag_set % 4],
                'user_business_unit': 'unit-' || s.tag_set % 31} end,
            case when l.run_tag is null then map([]::varchar[], []::varchar[]) else map {'user_training_run_id': l.run_tag} end
        )
    end as resource_tags,
    case when s.account_n % 3 = 0 then map {'capability': 'platform-' || s.account_n % 5} else map([]::varchar[],
        []::varchar[]) end as cost_category,
    -- the private discount of 6 %
    case when l.cost <> 0 and s.family not in ('plan_fee', 'negation') and coalesce(s.purchase,
        '') <> 'plan' then map {'edp_discount': round(l.cost * -0.06, 10)}
        else map([]::varchar[], []::double[]) end as discount,
    case when l.cost <> 0 and s.family not in ('plan_fee', 'negation') and coalesce(s.purchase,
        '') <> 'plan' then round(l.cost * -0.06, 10) end as discount_total_discount,
    -- commitments
    case
        when s.purchase = 'reserved' or s.family = 'reserved_fee'
            then 'arn:aws:ec2:' || s.region_id || ':' || a.account_id || ':reserved-instances/' || md5(s.usage_type
                || s.operation)
        when s.family = 'block_fee' then s.block_arn
    end as reservation_reservation_a_r_n,
    case when s.purchase = 'reserved' or s.family = 'reserved_fee' then '123444517' end as reservation_subscription_id,
    l.reserved_cost as reservation_effective_cost,
    round(l.reserved_cost * 0.94, 10) as reservation_net_effective_cost,
    l.reserved_cost as reservation_recurring_fee_for_usage,
    case s.family when 'reserved_fee' then 0.0 end as reservation_unused_amortized_upfront_fee_for_billing_period,
    case s.family when 'reserved_fee' then 0.0 end as reservation_net_unused_amortized_upfront_fee_for_billing_period,
    l.fee_unused as reservation_unused_recurring_fee,
    round(l.fee_unused * 0.94, 10) as reservation_net_unused_recurring_fee,
    case s.family when 'reserved_fee' then 2.5 end as reservation_unused_quantity,
    l.text_n as reservation_number_of_reservations,
    case s.family when 'reserved_fee' then '2026-01-01T00:00:00.000Z' when 'block_fee' then strftime(l.starts,
        '%Y-%m-%dT%H:%M:%S.000Z') end as reservation_start_time,
    case s.family when 'reserved_fee' then '2029-12-31T23:59:59.000Z'
        when 'block_fee' then strftime(l.starts + getvariable('block_hours') * interval 1 hour,
            '%Y-%m-%dT%H:%M:%S.000Z') end as reservation_end_time,
    case s.family when 'block_fee' then l.cost end as reservation_upfront_value,
    case when s.plan_n is not null then 'arn:aws:savingsplans::' || getvariable('payer')
        || ':savingsplan/5ace0000-0000-4000-a000-00000000000' || s.plan_n end
        as savings_plan_savings_plan_a_r_n,
    case when s.plan_n is not null then 'ComputeSavingsPlans' end as savings_plan_offering_type,
    case when s.plan_n is not null then 'No Upfront' end as savings_plan_payment_option,
    case when s.plan_n is not null then '3yr' end as savings_plan_purchase_term,
    case when s.plan_n is not null then 'Any' end as savings_plan_region,
    case when s.plan_n is not null then '2026-01-01T00:00:00.000Z' end as savings_plan_start_time,
    case when s.plan_n is not null then '2029-12-31T23:59:59.000Z' end as savings_plan_end_time,
    l.plan_cost as savings_plan_savings_plan_effective_cost,
    l.plan_cost as savings_plan_net_savings_plan_effective_cost,
    case when s.purchase = 'plan' then s.rate * 0.63 end as savings_plan_savings_plan_rate,
    l.plan_committed as savings_plan_total_commitment_to_date,
    l.plan_committed as savings_plan_recurring_commitment_for_billing_period,
    l.plan_used as savings_plan_used_commitment,
    case when s.purchase = 'block'
        or s.family = 'block_unused' then s.block_arn end as capacity_reservation_capacity_reservation_arn,
    case when s.purchase = 'block' then 'Used'
        when s.family = 'block_unused' then 'Unused' end as capacity_reservation_capacity_reservation_status,
    case when s.purchase = 'block'
        or s.family = 'block_unused' then 'EC2 Capacity Blocks for ML' end as capacity_reservation_capacity_reservation_type
from (
    select * exclude (part) from line_hours where part = getvariable('part')
    order by hash(series_id, starts, getvariable('seed'))
) as l
inner join series as s on l.series_id = s.series_id
inner join accounts as a on s.account_n = a.n

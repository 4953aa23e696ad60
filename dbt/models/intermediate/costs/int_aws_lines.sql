{{ config(materialized='by_month') }}

with classified_lines as (
    select
        lines.*,
        {{ aws_region_of_line('lines', 'prefixes') }} as region_id,
        {{ aws_is_usage('lines') }} as is_usage,
        {{ aws_is_in_hours('lines') }} as is_in_hours,
        {{ after_net_discounts('lines', 'billed_cost') }} as counted_billed_cost,
        {{ after_net_discounts('lines', 'unblended_cost') }} as counted_unblended_cost,
        -- only hours are read from it: what an exact number cannot hold is no number of hours, and no money
        case
            when abs(coalesce(cast(lines.usage_amount__text as double), lines.usage_amount)) < 1e12
                then {{ to_exact('lines.usage_amount', 12) }}
        end as exact_usage_amount,
        -- SppDiscount, DistributorDiscount, RiVolumeDiscount ...: AWS adds kinds, and each lowers what it is on
        lines.line_item_type like '%Discount' and not lines.is_pod as is_any_discount,
        {{ aws_is_accelerator('lines.instance_type') }} as is_accelerator_type,
        -- a dedicated host is billed by its family, HostUsage:p5, and the machines on it at 0: it has no hours of a machine
        lines.usage_type like '%HostUsage:%' and {{ aws_is_accelerator("lines.instance_type || '.'") }} as is_accelerator_host,
        case
            when lines.is_pod then null
            when lines.is_block_fee then 'capacity_block'
            when lines.line_item_type like 'SavingsPlan%' then 'savings_plan'
            when lines.line_item_type in ('RIFee', 'DiscountedUsage') then 'reservation'
            when lines.line_item_type = 'Fee' and lines.reservation_arn is not null then 'reservation'
            -- usage under a commitment costs nothing that could be lowered: what names one is on its purchase
            when lines.line_item_type = 'Refund' or lines.line_item_type like '%Discount'
                then case
                    when lines.savings_plan_arn is not null or lines.service_code like '%SavingsPlans' then 'savings_plan'
                    when lines.reservation_arn is not null or lines.usage_type like '%HeavyUsage%' then 'reservation'
                end
        end as commitment_kind
    from {{ ref('int_aws_line_groups') }} as lines
    left join {{ ref('aws_region_prefixes') }} as prefixes on lines.usage_type_prefix = prefixes.prefix
    {{ join_net_discounts('lines') }}
    where lines.is_book
)

select
    source_name || '|' || source_object || '|' || cast(row_number as string) as line_id,
    {{ cell() }}, delivery_content_hash, source_object, row_number, position,
    charge_period_start, charge_period_end, billing_currency, line_item_type, usage_type, resource_id, instance_type, run_tag,
    has_invoice,
    is_usage,
    is_any_discount and commitment_kind is null and not is_support as is_discount,
    is_accelerator_type,
    -- a Savings Plan of EC2 is bought for a family of instances: EC2SP:trn1.1yrNoUpfront
    case
        when not is_accelerator_type and not is_accelerator_host then ''
        when usage_type like '%EC2SP:%' then split_part(instance_type, '.', 1)
        else instance_type
    end as accelerator_name,
    is_block_fee,
    is_pod,
    block_arn,
    capacity_reservation_status = 'unused'
    or usage_type like '%UnusedBox%'
    or usage_type like '%UnusedDed%' as is_unused_reservation,
    case
        when commitment_kind = 'savings_plan' then coalesce(savings_plan_arn, described_plan_id, '')
        when commitment_kind is not null then coalesce(reservation_arn, '')
    end as commitment_id,
    commitment_kind,
    reservation_started_at,
    reservation_ended_at,
    reservation_count,
    exact_usage_amount as usage_amount,
    -- hours as billed, to the microsecond; null where the unit is not hours. A correction is shared like the hours it takes back
    case
        -- managed Spot of SageMaker is billed fewer seconds than its machines ran: what it saves is in the time, not in the price
        when exact_usage_amount <> 0 and is_in_hours and usage_type not like '%TrSpt:%'
            then {{ int_div(
                'cast(' ~ quick_units('abs(exact_usage_amount)', 12) ~ ' * 3600 + 500000 as decimal(38,0))',
                'cast(1000000 as decimal(38,0))'
            ) }}
    end as billed_us,
    case
        when line_item_type in ('Credit', 'Refund') and not is_block_fee then 'credit'
        when is_support or is_block_fee or line_item_type in ('Tax', 'SavingsPlanNegation') then 'fee'
        when line_item_type like '%Fee' or (is_any_discount and commitment_kind is not null) then 'fee'
        when is_accelerator_type or is_accelerator_host then 'accelerator'
        -- before machines: the disks of HyperPod are Cluster:VolumeUsage.gp3
        when {{ matches('usage_type', '(EBS|TimedStorage|VolumeUsage|Storage|Snapshot)') }} then 'storage'
        when
            instance_type like '%.%'
            and {{ matches('usage_type', '(BoxUsage|SpotUsage|Train|Cluster|UnusedBox|DedicatedUsage)') }} then 'host'
        -- AWS bills transfer under the service it leaves, with the family or the service of transfer beside it; where an
        -- export lacks both columns the usage type states it. Bytes alone do not: DataProcessing-Bytes are logs,
        -- Select-Scanned-Bytes a query
        when
            is_stated_transfer
            or {{ matches('usage_type', '(DataTransfer|(AWS|CloudFront)-(In|Out)-[A-Z]?Bytes|NatGateway)') }} then 'network'
        -- a file system has throughput and IOPS of its own beside what it stores
        when service_code in ('AmazonFSx', 'AmazonEFS') then 'storage'
        else 'other_usage'
    end as cost_component,
    counted_billed_cost as billed_cost,
    counted_unblended_cost as unblended_cost,
    gross_unblended_cost,
    case
        when
            is_pod
            or is_block_fee
            or line_item_type in ('SavingsPlanNegation', 'SavingsPlanUpfrontFee')
            or (commitment_kind is not null and (line_item_type in ('Fee', 'Refund') or is_any_discount))
            then cast(0 as decimal(38, 12))
        when line_item_type = 'DiscountedUsage' and is_covered_cost_stated then reservation_effective_cost
        when line_item_type = 'SavingsPlanCoveredUsage' and is_covered_cost_stated then savings_plan_effective_cost
        when line_item_type = 'SavingsPlanRecurringFee' then {{ net_of_discount(
            'coalesce(' ~ exact_sum(['savings_plan_commitment_to_date', '-savings_plan_used_commitment'], 12) ~ ', 0)',
            'unblended_cost', 'gross_unblended_cost'
        ) }}
        when line_item_type = 'RIFee' then {{ exact_sum(
            ['coalesce(reservation_unused_upfront_cost, 0)', 'coalesce(reservation_unused_recurring_cost, 0)'], 12
        ) }}
        else counted_unblended_cost
    end as effective_cost,
    case when is_usage then public_on_demand_cost else cast(0 as decimal(38, 12)) end as list_cost,
    case when is_usage or contracted_cost is null then contracted_cost else cast(0 as decimal(38, 12)) end as contracted_cost,
    line_count,
    is_single,
    is_unpriced,
    -- what a line that no run holds is left with, where its kind alone decides
    case
        when is_pod then 'unattributed'
        when line_item_type = 'Tax' then 'tax'
        when is_support then 'support'
        when line_item_type = 'SavingsPlanNegation' then 'rounding'
        when commitment_kind is not null and not is_usage then 'unused_commitment'
        when line_item_type = 'Credit' then 'credit'
        when line_item_type = 'Refund' then 'refund'
        when line_item_type like '%Fee' or line_item_type = 'Adjustment' then 'provider_adjustment'
    end as fixed_reason
from classified_lines

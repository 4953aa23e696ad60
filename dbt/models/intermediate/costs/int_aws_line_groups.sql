{{ config(materialized='by_month') }}
{%- set costs = [
    'unblended_cost', 'gross_unblended_cost', 'public_on_demand_cost', 'contracted_cost',
    'reservation_effective_cost', 'reservation_unused_upfront_cost', 'reservation_unused_recurring_cost',
    'savings_plan_effective_cost', 'savings_plan_commitment_to_date', 'savings_plan_used_commitment',
] %}
{%- set is_at_nothing %}(
                line_item_type = 'Usage'
                and not is_pod
                and {{ as_double('unblended_cost') }} = 0
                and {{ as_double('gross_unblended_cost') }} = 0
                and coalesce({{ as_double('usage_amount') }}, 1) <> 0
            ){% endset %}

with months as (
    select
        usage_month, cast(usage_month as timestamp) as month_from, cast(usage_month as timestamp) + interval 1 month as month_to
    from ({{ months_to_build() }}) as months_to_build
),

held_machines as (
    select distinct months.usage_month, {{ machine_name('holdings.resource_id') }} as machine_name
    from {{ ref('int_run_holdings') }} as holdings
    inner join months on holdings.started_at < months.month_to and holdings.ended_at > months.month_from
    where holdings.resource_id is not null
),

-- months in which records name machines of HyperPod, which a bill has by cluster and type: time decides about those
hyperpod_months as (
    select distinct usage_month from held_machines
    where {{ is_of_hyperpod('machine_name') }}
),

jobs as (
    select distinct alias_id as resource_id from {{ ref('stg_training_runs__aliases') }}
    where alias_system = 'sagemaker'
),

-- a machine's time that is divided among its pods and tasks
pod_times as (
    select distinct usage_month, source_name, machine_id, charge_period_start, charge_period_end
    from {{ ref('int_aws_pods') }}
    where {{ in_build_months() }}
),

plan_lines as (
    select
        *,
        -- how a bill writes a training plan of SageMaker is in no public one: its ARN may be in any of these
        case
            when reservation_arn like '%:training-plan/%' then reservation_arn
            when capacity_reservation_arn like '%:training-plan/%' then capacity_reservation_arn
            when resource_id like '%:training-plan/%' then resource_id
        end as plan_arn
    from {{ ref('stg_aws_cur__line_items') }}
),

block_lines as (
    select
        *,
        {{ normalised_run_id('run_tag') }} as tag_run_id,
        -- without its reservation a block fee cannot be laid onto hours and stays a plain fee; tax on it and a credit for it
        -- never reach a run. Of a plan what is billed of the plan itself and not by the hour is its fee, whatever it is called
        (
            usage_type like '%CapacityBlockFee%'
            and reservation_arn is not null
            and line_item_type not in ('Tax', 'Credit')
        )
        or (
            plan_arn is not null
            and (
                line_item_type in ('Fee', 'Refund')
                or line_item_type like '%Discount'
                or (
                    line_item_type = 'Usage'
                    and resource_id = plan_arn
                    and {{ as_double('gross_unblended_cost') }} <> 0
                    and lower(pricing_unit) not in ('hrs', 'hours', 'hour', 'hr')
                )
            )
        ) as is_block_fee,
        coalesce(
            plan_arn,
            capacity_reservation_arn,
            case when resource_id like '%:capacity-reservation/%' then resource_id end
        ) as stated_block_arn,
        -- what a row costs over its term, where a reservation or a plan pays for it
        case line_item_type
            when 'DiscountedUsage' then {{ as_double('reservation_effective_cost') }}
            when 'SavingsPlanCoveredUsage' then {{ as_double('savings_plan_effective_cost') }}
        end as covered_cost,
        -- an hour of accelerators at 0: of a dedicated host, and of a capacity reservation beside its hours, that is the price.
        -- A type is only read of what may be one: an engine works out both sides of an `and`
        case
            when not coalesce({{ is_at_nothing }}, true) then false
            else {{ is_at_nothing }}
            and {{ aws_is_accelerator(aws_instance_type('usage_type')) }}
            and not {{ matches('usage_type', '(HostBoxUsage|HostUsage|DedicatedRes|Reservation|EBSOptimized):') }}
        end as is_unpriced
    from plan_lines
),

placed_lines as (
    select
        block_lines.*,
        held_machines.machine_name is not null as is_held,
        pod_times.machine_id is not null and {{ aws_is_instance_time('block_lines.usage_type') }} as is_of_pods,
        segments.segment_from,
        segments.training_run_id as segment_run_id,
        case when segments.segment_from is not null then {{ aws_is_in_hours('block_lines') }} end as is_in_hours,
        case
            when segments.segment_from is not null
                then {{ instant_us('block_lines.charge_period_end') }} - {{ instant_us('block_lines.charge_period_start') }}
        end as period_us
    from block_lines
    left join held_machines
        on
            block_lines.usage_month = held_machines.usage_month
            and {{ machine_name('block_lines.resource_id') }} = held_machines.machine_name
    left join pod_times
        on
            block_lines.usage_month = pod_times.usage_month
            and block_lines.resource_id = pod_times.machine_id
            and block_lines.charge_period_start = pod_times.charge_period_start
            and block_lines.charge_period_end = pod_times.charge_period_end
            and block_lines.source_name = pod_times.source_name
    -- who holds the machine, and of which attempt and week its time is, changes at no instant of a segment
    left join {{ ref('int_machine_segments') }} as segments
        on
            block_lines.usage_month = segments.usage_month
            and {{ machine_name('block_lines.resource_id') }} = segments.machine_name
            and cast(block_lines.charge_period_start as date) = segments.segment_day
            and block_lines.charge_period_start >= segments.segment_from
            and block_lines.charge_period_end <= segments.segment_to
),

-- a row of its own: what time decides about (jobs, blocks, and what is billed of a machine that some run held in the month,
-- but for the lines of a segment; what its pods divide), what alone shows the time of a run (the tagged use of accelerators,
-- where no record names a machine of it in the month, or no list price is stated), what may not be rounded in a sum (what of a
-- plan was not used), and hours without a price, which are counted
judged_lines as (
    select
        placed_lines.*,
        placed_lines.is_book and (
            -- in a segment the hours of an accelerator are billed in full and at a list price: each is as the first
            case
                when placed_lines.is_held then not coalesce(
                    placed_lines.period_us > 0
                    and (placed_lines.tag_run_id is null or placed_lines.tag_run_id = placed_lines.segment_run_id)
                    and case
                        when placed_lines.is_in_hours
                            then {{ as_double('placed_lines.usage_amount') }} * 3600000000 = placed_lines.period_us
                            and {{ as_double('placed_lines.public_on_demand_cost') }} is not null
                        else not {{ aws_is_accelerator(aws_instance_type('placed_lines.usage_type')) }}
                    end, false
                )
                else false
            end
            or jobs.resource_id is not null
            or placed_lines.is_of_pods
            or placed_lines.stated_block_arn is not null
            or placed_lines.is_block_fee
            or placed_lines.line_item_type = 'SavingsPlanRecurringFee'
            or placed_lines.is_unpriced
            or (hyperpod_months.usage_month is not null and placed_lines.usage_type like '%Cluster:ml.%')
            or case
                when
                    placed_lines.tag_run_id is not null
                    and (
                        not coalesce(recorded.names_machine, false)
                        or {{ as_double('placed_lines.public_on_demand_cost') }} is null
                    )
                    then {{ aws_is_accelerator(aws_instance_type('placed_lines.usage_type')) }}
                else false
            end
        ) as is_single
    from placed_lines
    left join jobs on placed_lines.resource_id = jobs.resource_id
    left join hyperpod_months on placed_lines.usage_month = hyperpod_months.usage_month
    left join {{ ref('int_recorded_months') }} as recorded
        on placed_lines.usage_month = recorded.usage_month and placed_lines.tag_run_id = recorded.training_run_id
),

lines as (
    select *, is_book and not is_single and segment_from is not null as is_of_segment
    from judged_lines
),

line_groups as (
    select
        source_name, delivery_content_hash, is_book, payer_account_id, payer_account_name, sub_account_id, account_name,
        service_code,
        service_name,
        stated_region_id,
        usage_month,
        billing_currency,
        line_item_type,
        is_pod,
        is_block_fee,
        usage_type,
        product_family = 'Data Transfer' or 'AWSDataTransfer' in (service_code, product_service_code) as is_stated_transfer,
        has_invoice,
        invoicing_entity,
        run_tag,
        case when is_block_fee then coalesce(plan_arn, reservation_arn) else reservation_arn end as reservation_arn,
        savings_plan_arn,
        -- the refund of a one-time fee names its plan in its text alone, by the end of its ARN
        case
            when
                savings_plan_arn is null
                and (line_item_type = 'Refund' or line_item_type like '%Discount' or line_item_type like 'SavingsPlan%')
                then regexp_extract(charge_description, 'Savings Plan ID:? *([0-9A-Za-z-]+)', 1)
        end as described_plan_id,
        coalesce(stated_block_arn, case when is_block_fee then reservation_arn end) as block_arn,
        lower(capacity_reservation_status) as capacity_reservation_status,
        line_item_type in ('DiscountedUsage', 'SavingsPlanCoveredUsage') and covered_cost is not null as is_covered_cost_stated,
        {{ as_double('public_on_demand_cost') }} is not null as is_list_cost_stated,
        coalesce({{ as_double('unblended_cost') }} < 0, false) as is_negative,
        coalesce(coalesce(covered_cost, {{ as_double('unblended_cost') }}) < 0, false) as is_effective_negative,
        is_single,
        is_unpriced,
        case when is_of_segment then segment_from end as segment_from,
        case when is_of_segment then period_us end as period_us,
        case when is_single or is_of_segment then resource_id end as resource_id,
        case when is_single or is_of_segment then lower(pricing_unit) end as pricing_unit,
        case when is_single or (is_of_segment and is_in_hours) then usage_amount end as usage_amount,
        case when is_single or (is_of_segment and is_in_hours) then usage_amount__text end as usage_amount__text,
        case when is_block_fee then try_cast(reservation_started_at as timestamp) end as reservation_started_at,
        case when is_block_fee then try_cast(reservation_ended_at as timestamp) end as reservation_ended_at,
        case when is_block_fee then try_cast(reservation_count as bigint) end as reservation_count,
        case when is_single then position end as own_position,
        -- the first row of a group gives it its name
        min(position) as position,
        min_by(source_object, position) as source_object,
        min(position) % 4294967296 as row_number,
        min(case when is_single or is_of_segment then charge_period_start end) as charge_period_start,
        min(case when is_single or is_of_segment then charge_period_end end) as charge_period_end,
        -- in their order: the same rows are the same list on every engine, and no hour is null instead of a list of none
        case
            when bool_or(is_of_segment and is_in_hours)
                then array_sort(array_agg(charge_period_start) filter (where is_of_segment and is_in_hours))
        end as hours_from,
        cast(sum(coalesce(line_count, 1)) as bigint) as line_count
        {%- for cost in costs %},
        {{ exact_total(cost, cost ~ '__text', 12) }} as {{ cost }}
        {%- endfor %}
    from lines
    group by all
)

select
    *,
    'AWS' as provider_name,
    regexp_extract(usage_type, '^([A-Z]{2,5}[0-9]{0,2})-', 1) as usage_type_prefix,
    {{ aws_instance_type('usage_type') }} as instance_type,
    -- a covered line shows its on-demand cost and a negation takes it away again: neither is on the invoice
    case
        when line_item_type in ('SavingsPlanCoveredUsage', 'SavingsPlanNegation') and not is_pod then cast(0 as decimal(38, 12))
        else unblended_cost
    end as billed_cost,
    service_code like '%Support%' as is_support
from line_groups

-- of a plan: its ARN has region and account
with plans as (
    select
        fees.block_arn as plan_arn,
        split_part(fees.block_arn, ':', 4) as region_id,
        split_part(fees.block_arn, ':', 5) as sub_account_id,
        fees.billing_currency,
        max(fees.accelerator_name) as accelerator_name,
        coalesce(min(fees.reservation_started_at), min(stated.started_at)) as started_at,
        coalesce(max(fees.reservation_ended_at), max(stated.ended_at)) as ended_at
    from {{ ref('int_aws_block_lines') }} as fees
    left join {{ ref('int_stated_capacities') }} as stated on fees.block_arn = stated.capacity_key
    where fees.is_block_fee and fees.block_arn like '%:training-plan/%'
    group by fees.block_arn, fees.billing_currency
),

-- the plan that a record gives its job
jobs as (
    select jobs.alias_id as resource_id, min(plans.plan_arn) as plan_arn
    from {{ ref('stg_training_runs__aliases') }} as jobs
    inner join {{ ref('stg_training_runs__plans') }} as plans using (record_system, recorded_id)
    where jobs.alias_system = 'sagemaker'
    group by jobs.alias_id
    having min(plans.plan_arn) = max(plans.plan_arn)
),

-- the only plan of the account, region and type in whose term the hour lies: hours of HyperPod name no job
fitting as (
    select hours.usage_month, hours.line_id, min(plans.plan_arn) as plan_arn
    from {{ ref('int_aws_block_lines') }} as hours
    inner join plans
        on
            hours.sub_account_id = plans.sub_account_id
            and hours.region_id = plans.region_id
            and hours.billing_currency = plans.billing_currency
            and (plans.accelerator_name = hours.accelerator_name or plans.accelerator_name = '')
            and hours.charge_period_end > plans.started_at
            and hours.charge_period_start < plans.ended_at
    where hours.block_arn is null
    group by hours.usage_month, hours.line_id
    having min(plans.plan_arn) = max(plans.plan_arn)
),

-- blocks of which hours are billed, used or unused: what counts the reserved time beside them is the same time again
billed_blocks as (
    select distinct block_arn from {{ ref('int_aws_block_lines') }}
    where is_usage and not is_reserved_time and block_arn is not null
)

select
    lines.usage_month,
    lines.line_id,
    lines.source_name,
    lines.payer_account_id,
    coalesce(lines.block_arn, jobs.plan_arn, fitting.plan_arn) as block_arn,
    lines.billing_currency,
    lines.is_block_fee,
    lines.is_usage,
    lines.billed_cost,
    lines.source_object,
    lines.row_number,
    lines.charge_period_start,
    lines.charge_period_end,
    lines.billed_us,
    lines.reservation_started_at,
    lines.reservation_ended_at,
    lines.reservation_count
from {{ ref('int_aws_block_lines') }} as lines
left join jobs on lines.resource_id = jobs.resource_id
left join fitting on lines.usage_month = fitting.usage_month and lines.line_id = fitting.line_id
left join billed_blocks on lines.block_arn = billed_blocks.block_arn
where
    (lines.block_arn is not null or jobs.plan_arn is not null or fitting.plan_arn is not null)
    and (lines.is_block_fee or not lines.is_reserved_time or billed_blocks.block_arn is null)

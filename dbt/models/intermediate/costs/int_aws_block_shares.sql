{{ config(materialized='by_month') }}

-- a fee goes to the hours of all months: blocks that were used in no month of the build stay as they are
with charges as (
    select *, fee_cost as effective_cost from {{ ref('int_aws_capacity_blocks') }}
    where block_arn in (
        select used.block_arn from {{ ref('int_aws_fees_and_hours') }} as used
        where {{ in_build_months('used.usage_month') }}
    )
),

hours as (
    select
        charges.charge_id,
        charges.block_arn,
        lines.usage_month,
        lines.line_id,
        -- parts are named by their place in time, so ties go to the earlier hour
        lpad(cast(row_number() over (
            partition by charges.charge_id
            order by lines.charge_period_start, lines.source_object, lines.row_number
        ) as string), 12, '0') as part_id,
        lines.billed_us as w
    from {{ ref('int_aws_fees_and_hours') }} as lines
    inner join charges
        on
            lines.block_arn = charges.block_arn
            and lines.billing_currency = charges.billing_currency
            and (charges.hours_from is null or lines.charge_period_start >= charges.hours_from)
            and (charges.hours_to is null or lines.charge_period_start < charges.hours_to)
    where lines.is_usage
),

parts as (
    select charge_id, part_id, w from hours
    union all
    select charge_id, '~residual' as part_id, open_us as w from charges
    union all
    select charge_id, '~unused' as part_id, unused_us as w from charges
    where unused_us > 0
),

shares as (
    {{ exact_split('charges', 'parts', ['effective_cost'], 12) }}
)

-- what is still prepaid is no hour's
select hours.usage_month, charge_id, hours.block_arn, hours.line_id, shares.effective_cost
from shares
inner join hours using (charge_id, part_id)

union all

-- what of a plan was not used is of no row but its fee's
select charges.fee_month as usage_month, charge_id, charges.block_arn, charges.fee_line_id as line_id, shares.effective_cost
from shares
inner join charges using (charge_id)
where shares.part_id = '~unused'

with charges as (
    select charge_id, fee_cost as effective_cost from {{ ref('int_aws_capacity_blocks') }}
),

hours as (
    select
        blocks.charge_id,
        lines.line_id,
        row_number() over (
            partition by blocks.charge_id
            order by lines.charge_period_start, lines.source_object, lines.row_number
        ) as hour_number,
        coalesce(lines.billed_us, {{ microseconds('lines.charge_period_start', 'lines.charge_period_end') }}) as w
    from {{ ref('int_aws_lines') }} as lines
    inner join {{ ref('int_aws_capacity_blocks') }} as blocks using (block_arn, billing_currency)
    where lines.is_usage
),

parts as (
    -- parts are named by their place in time, so ties go to the earlier hour
    select charge_id, lpad(cast(hour_number as string), 12, '0') as part_id, cast(w as decimal(38, 0)) as w from hours
    union all
    select charge_id, '~residual' as part_id, open_us as w from {{ ref('int_aws_capacity_blocks') }}
),

shares as (
    {{ exact_split('charges', 'parts', ['effective_cost'], 12) }}
)

select
    shares.charge_id,
    hours.line_id,
    shares.effective_cost
from shares
left join hours on shares.charge_id = hours.charge_id and shares.part_id = lpad(cast(hours.hour_number as string), 12, '0')

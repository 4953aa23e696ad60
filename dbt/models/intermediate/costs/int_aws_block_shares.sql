with charges as (
    select *, fee_cost as effective_cost from {{ ref('int_aws_capacity_blocks') }}
),

hours as (
    select
        charges.charge_id,
        lines.line_id,
        -- parts are named by their place in time, so ties go to the earlier hour
        lpad(cast(row_number() over (
            partition by charges.charge_id
            order by lines.charge_period_start, lines.source_object, lines.row_number
        ) as string), 12, '0') as part_id,
        cast(coalesce(lines.billed_us, {{ microseconds('lines.charge_period_start', 'lines.charge_period_end') }})
            as decimal(38, 0)) as w
    from {{ ref('int_aws_lines') }} as lines
    inner join charges using (block_arn, billing_currency)
    where lines.is_usage
),

parts as (
    select charge_id, part_id, w from hours
    union all
    select charge_id, '~residual' as part_id, open_us as w from charges
),

shares as (
    {{ exact_split('charges', 'parts', ['effective_cost'], 12) }}
)

select charge_id, hours.line_id, shares.effective_cost
from shares
left join hours using (charge_id, part_id)

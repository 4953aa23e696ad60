{{ config(materialized='by_month') }}

with charges as (
    select *, line_id as charge_id
    from {{ ref('int_charges') }}
    where
        attribution_line_id in (
            select held.line_id from {{ ref('int_line_attributions') }} as held
            where held.attribution_rule = 'resource_time'
        )
        and {{ in_build_months() }}
),

parts as (
    select charges.charge_id, held.part_id, held.w
    from {{ ref('int_line_overlaps') }} as held
    inner join charges on held.line_id = charges.attribution_line_id
),

split as (
    {{ exact_split('charges', 'parts', ['billed_cost', 'effective_cost', 'list_cost', 'contracted_cost', 'weight'], 12) }}
)

select
    charges.usage_month,
    split.charge_id as line_id,
    split.part_id,
    split.w,
    split.billed_cost,
    split.effective_cost,
    split.list_cost,
    split.contracted_cost,
    split.weight
from split
inner join charges using (charge_id)

-- Charges that several runs share, divided exactly, one row per charge and part.
{{ config(materialized='incremental', incremental_strategy='append', pre_hook="{{ delete_build_months() }}") }}

with charges as (
    select
        charges.line_id as charge_id,
        charges.billed_cost,
        charges.effective_cost,
        charges.list_cost,
        charges.weight
    from {{ ref('int_charges') }} as charges
    inner join {{ ref('int_line_attributions') }} as attributions on charges.line_id = attributions.line_id
    where attributions.attribution_rule = 'resource_time' and {{ in_build_months('charges.usage_month') }}
),

parts as (
    select held.line_id as charge_id, held.part_id, held.w
    from {{ ref('int_line_overlaps') }} as held
    inner join charges on held.line_id = charges.charge_id
),

split as (
    {{ exact_split('charges', 'parts', ['billed_cost', 'effective_cost', 'list_cost', 'weight'], 12) }}
)

select
    held.usage_month,
    split.charge_id as line_id,
    split.part_id,
    split.w,
    split.billed_cost,
    split.effective_cost,
    split.list_cost,
    split.weight
from split
inner join {{ ref('int_line_overlaps') }} as held on split.charge_id = held.line_id and split.part_id = held.part_id

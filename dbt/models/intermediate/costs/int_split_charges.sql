{{ config(materialized='by_month') }}
{%- set measures = ['billed_cost', 'effective_cost', 'list_cost', 'on_demand_list_cost', 'contracted_cost', 'weight'] %}

with charges as (
    select *, line_id as charge_id
    from {{ ref('int_charges') }}
    where
        attribution_line_id in (
            select held.line_id from {{ ref('int_line_attributions') }} as held
            where held.attribution_rule in ('resource_time', 'cluster_key')
        )
        and {{ in_build_months() }}
),

all_parts as (
    select
        charges.charge_id,
        held.part_id,
        held.w,
        sum(case when held.w > 0 then 1 else 0 end) over (partition by charges.charge_id) as holder_count
    from {{ ref('int_line_overlaps') }} as held
    inner join charges on held.line_id = charges.attribution_line_id
),

parts as (
    select charge_id, part_id, w from all_parts
    where holder_count <> 1
),

divided_charges as (
    select * from charges
    where charge_id in (select parts.charge_id from parts)
),

split as (
    {{ exact_split('divided_charges', 'parts', measures, 12) }}
)

select
    charges.usage_month,
    split.charge_id as line_id,
    split.part_id,
    split.w
    {%- for measure in measures %},
    split.{{ measure }}
    {%- endfor %}
from split
inner join charges using (charge_id)

union all

-- most machines have one holder all along, which takes the whole: there is nothing to divide
select
    charges.usage_month,
    all_parts.charge_id as line_id,
    all_parts.part_id,
    cast(all_parts.w as decimal(38, 0)) as w
    {%- for measure in measures %},
    case
        when all_parts.w > 0 or charges.{{ measure }} is null then charges.{{ measure }} else cast(0 as decimal(38, 12))
    end
        as {{ measure }}
    {%- endfor %}
from all_parts
inner join charges using (charge_id)
where all_parts.holder_count = 1

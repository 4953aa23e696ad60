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

placed_parts as (
    select
        *,
        row_number() over (partition by charge_id order by part_id) as place,
        case part_id when '~residual' then '~' else ' ' end || cast(w as string) as placed_weight
    from parts
),

-- most have two parts, a run's and what it left
further_weights as (
    select
        charge_id,
        {{ in_one_text("lpad(cast(place as string), 6, '0') || placed_weight") }} as further_weights
    from placed_parts
    where place > 2
    group by charge_id
),

weights as (
    select
        charge_id,
        max(case when place = 1 then placed_weight end) as first_weight,
        max(case when place = 2 then placed_weight end) as second_weight
    from placed_parts
    group by charge_id
),

-- machines of one cluster cost the same and are handed on at the same instant: charges with the same amounts and weights have the
-- same parts, which are worked out once
alike as (
    select
        charges.*,
        min(charges.charge_id) over (partition by
            weights.first_weight, weights.second_weight, further_weights.further_weights,
            charges.{{ measures | join(', charges.') }}
        ) as first_id
    from charges
    inner join weights using (charge_id)
    left join further_weights using (charge_id)
),

divided_charges as (
    select * from alike
    where charge_id = first_id
),

divided_parts as (
    select placed_parts.charge_id, placed_parts.part_id, placed_parts.w, placed_parts.place from placed_parts
    inner join divided_charges using (charge_id)
),

split as (
    {{ exact_split('divided_charges', 'divided_parts', measures, 12) }}
),

split_by_place as (
    select split.*, divided_parts.place
    from split
    inner join divided_parts using (charge_id, part_id)
)

select
    alike.usage_month,
    alike.charge_id as line_id,
    placed_parts.part_id,
    split.w
    {%- for measure in measures %},
    split.{{ measure }}
    {%- endfor %}
from alike
inner join placed_parts on alike.charge_id = placed_parts.charge_id
inner join split_by_place as split on alike.first_id = split.charge_id and placed_parts.place = split.place

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

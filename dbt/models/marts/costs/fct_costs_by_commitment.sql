{{ config(materialized='by_month') }}
{%- set measures = ['billed_cost', 'effective_cost', 'list_cost', 'contracted_cost'] %}
{%- set zero = 'cast(0 as decimal(38, 12))' %}

with parts as (
    {{ charge_parts(
        built_months_of(ref('int_line_attributions')),
        built_months_of(ref('int_split_charges')),
        ['part_id']
    ) }}
),

lines as (
    select * from {{ built_months_of(ref('int_committed_lines')) }}
),

-- lines that are divided among their parts: a look-up, so that the join below is of equalities and not a comparison of every pair
divided as (
    select distinct usage_month, line_id from lines
    where share_part_id is not null
),

rows_of_parts as (
    select
        {{ cell_of('parts') }},
        parts.billing_currency,
        parts.cost_component,
        parts.part_run_id as training_run_id,
        case when parts.part_run_id is not null then parts.attribution_rule end as attribution_rule,
        parts.reason,
        coalesce(lines.commitment_id, '') as commitment_id,
        coalesce(lines.commitment_kind, '') as commitment_kind,
        coalesce(lines.commitment_part, '') as commitment_part,
        coalesce(lines.is_spend_based, false) as is_spend_based,
        coalesce(lines.commitment_part = 'purchase' and lines.is_recurring, false) as is_recurring,
        coalesce(lines.taken, 'whole') as taken
        {%- for measure in measures %},
        case coalesce(lines.taken, 'whole')
            when 'whole' then parts.part_{{ measure }}
            {%- if measure == 'billed_cost' %}
            when 'billed' then parts.part_{{ measure }}
            when 'rest' then parts.part_{{ measure }}
            else {{ zero }}
            {%- else %}
            {%- if measure == 'effective_cost' %}
            when 'effective' then parts.part_{{ measure }}
            {%- endif %}
            when 'use' then parts.part_{{ measure }}
            when 'share' then lines.share_{{ measure }}
            when 'rest' then {{ exact_sum(['parts.part_' ~ measure, '-lines.share_' ~ measure], 12) }}
            else {{ zero }}
            {%- endif %}
        end as {{ measure }}
        {%- endfor %}
    from parts
    left join divided on parts.line_id = divided.line_id and parts.usage_month = divided.usage_month
    left join lines
        on
            parts.line_id = lines.line_id
            and parts.usage_month = lines.usage_month
            and case when divided.line_id is null then '~each' else coalesce(parts.part_id, '') end
            = coalesce(lines.share_part_id, '~each')

    union all

    select
        {{ cell() }},
        billing_currency,
        'fee' as cost_component,
        cast(null as string) as training_run_id,
        cast(null as string) as attribution_rule,
        'rounding' as reason,
        '' as commitment_id,
        '' as commitment_kind,
        '' as commitment_part,
        false as is_spend_based,
        false as is_recurring,
        'whole' as taken,
        billed_cost,
        -- on the invoice, but nothing was used for it
        {{ zero }} as effective_cost,
        {{ zero }} as list_cost,
        cast(null as decimal(38, 12)) as contracted_cost
    from {{ ref('int_saving_plan_roundings') }}
    where {{ in_build_months() }}
)

select
    coalesce(training_run_id || '|' || attribution_rule, '~' || reason) as part_id,
    {{ cell() }},
    billing_currency,
    cost_component,
    training_run_id,
    attribution_rule,
    reason,
    commitment_id,
    commitment_kind,
    commitment_part,
    is_spend_based,
    is_recurring,
    {{ sums(['billed_cost', 'effective_cost'], 12) }},
    {{ whole_sums(['list_cost', 'contracted_cost'], 12) }}
from rows_of_parts
-- where a commitment pays for all there is no rest, and a fee of which all was used leaves nothing
where taken = 'whole' or billed_cost <> 0 or effective_cost <> 0 or (taken = 'rest' and coalesce(list_cost, 0) <> 0)
group by all

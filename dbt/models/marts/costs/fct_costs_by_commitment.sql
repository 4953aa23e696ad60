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
        {{ of_commitment(measure) }} as {{ measure }}
        {%- endfor %}
    from parts
    left join {{ built_months_of(ref('int_committed_lines')) }} as lines
        on
            parts.line_id = lines.line_id
            and parts.usage_month = lines.usage_month
            and coalesce(parts.part_id, '') = lines.share_part_id

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

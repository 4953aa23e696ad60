{{ config(materialized='view') }}

with {{ shares_of_runs() }},

parts as (
    {{ charge_parts(ref('int_line_attributions'), 'shares', ['part_id', 'w', 'whole_w']) }}
),

committed_lines as (
    select
        lines.usage_month,
        lines.line_id,
        coalesce(named_ids.first_run_id, lines.share_part_id) as share_part_id,
        lines.commitment_id,
        lines.commitment_kind,
        lines.commitment_part,
        lines.is_refund,
        lines.commitment_part = 'purchase' and lines.is_recurring as is_recurring,
        lines.taken,
        {{ sums(['share_effective_cost'], 12) }},
        {{ whole_sums(['share_list_cost', 'share_contracted_cost'], 12) }}
    from {{ ref('int_committed_lines') }} as lines
    left join named_ids on lines.share_part_id = named_ids.training_run_id
    group by all
),

parts_of_commitments as (
    select
        parts.*,
        lines.commitment_id,
        lines.commitment_kind,
        lines.commitment_part,
        lines.is_recurring,
        lines.is_refund
        {%- for measure in ['billed_cost', 'effective_cost', 'list_cost', 'contracted_cost'] %},
        {{ of_commitment(measure) }} as own_{{ measure }}
        {%- endfor %}
    from parts
    inner join committed_lines as lines
        on
            parts.line_id = lines.line_id
            and parts.usage_month = lines.usage_month
            and coalesce(parts.part_id, '') = lines.share_part_id
)

select
    source_name,
    usage_month,
    {{ charge_group_id() }} as charge_group_id,
    delivery_content_hash,
    cast(line_count as bigint) as row_count,
    part_run_id as training_run_id,
    reason,
    cost_component,
    case when part_run_id is not null then attribution_rule end as attribution_rule,
    {{ share_of_part() }},
    billing_currency,
    commitment_id,
    commitment_kind,
    commitment_part,
    is_recurring,
    is_refund,
    cast(own_billed_cost as decimal(38, 12)) as billed_cost,
    cast(own_effective_cost as decimal(38, 12)) as effective_cost,
    cast(own_list_cost as decimal(38, 12)) as list_cost,
    cast(own_contracted_cost as decimal(38, 12)) as contracted_cost
from parts_of_commitments
-- use that bought nothing is no purchase, and where a commitment pays for all there is no rest
where commitment_part in ('used', 'unused') or own_billed_cost <> 0 or own_effective_cost <> 0 or own_list_cost <> 0

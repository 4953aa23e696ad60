{{ config(materialized='by_month') }}

with parts_with_reason as (
    {{ charge_parts(
        built_months_of(ref('int_line_attributions')),
        built_months_of(ref('int_split_charges'))
    ) }}
),

parts as (
    select parts_with_reason.*, zero_priced.line_id is not null as is_zero_priced
    from parts_with_reason
    left join {{ ref('int_zero_priced_lines') }} as zero_priced
        on parts_with_reason.usage_month = zero_priced.usage_month and parts_with_reason.bill_line_id = zero_priced.line_id
)

select
    {{ cell() }},
    billing_currency,
    cost_component,
    part_run_id as training_run_id,
    case when part_run_id is not null then attribution_rule end as attribution_rule,
    reason,
    case when part_run_id is null then accelerator_type else '' end as accelerator_type,
    cast(sum(part_billed_cost) as decimal(38, 12)) as billed_cost,
    cast(sum(part_effective_cost) as decimal(38, 12)) as effective_cost,
    {{ whole_sum('part_list_cost', 'decimal(38, 12)') }} as list_cost,
    {{ whole_sum('part_on_demand_list_cost', 'decimal(38, 12)') }} as on_demand_list_cost,
    {{ whole_sum('part_contracted_cost', 'decimal(38, 12)') }} as contracted_cost,
    cast(sum(part_weight) as decimal(38, 12)) as weight,
    -- for coverage: effective cost of usage, and of usage with a list price
    cast(sum(case when is_usage then abs(part_effective_cost) else 0 end) as decimal(38, 12)) as usage_effective_cost,
    cast(sum(case when is_usage and part_list_cost is not null then abs(part_effective_cost) else 0 end) as decimal(38, 12))
        as listed_effective_cost,
    sum(case when is_usage then line_count else 0 end) as usage_line_count,
    sum(case when is_usage and part_list_cost is not null then line_count else 0 end) as listed_line_count,
    sum(case when is_usage and not is_weight_borrowed then line_count else 0 end) as weighted_line_count,
    min(case attribution_confidence when 'low' then 1 when 'medium' then 2 else 3 end) as confidence_rank,
    bool_and(has_invoice) as is_invoiced,
    bool_or(is_usage and is_accelerator_type) as has_accelerator_usage,
    bool_or(is_zero_priced) as is_zero_priced
from parts
group by all

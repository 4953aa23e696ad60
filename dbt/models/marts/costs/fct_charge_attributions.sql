{{ config(materialized='view') }}

with {{ shares_of_runs() }},

parts as (
    {{ charge_parts(ref('int_line_attributions'), 'shares', ['w', 'whole_w']) }}
),

roundings as (
    select
        lines.line_id,
        roundings.source_name,
        roundings.provider_name,
        roundings.payer_account_id,
        roundings.sub_account_id,
        roundings.service_code,
        roundings.region_id,
        roundings.usage_month,
        roundings.billing_currency,
        lines.delivery_content_hash,
        lines.line_count,
        lines.unblended_cost
    from {{ ref('int_aws_lines') }} as lines
    inner join {{ ref('int_saving_plan_roundings') }} as roundings
        using (source_name, payer_account_id, usage_month, billing_currency)
    where lines.line_item_type in ('SavingsPlanCoveredUsage', 'SavingsPlanNegation') and not lines.is_pod
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
    cast(part_billed_cost as decimal(38, 12)) as billed_cost,
    cast(part_effective_cost as decimal(38, 12)) as effective_cost,
    case when part_run_id is null then accelerator_type else '' end as accelerator_type,
    cast(part_list_cost as decimal(38, 12)) as list_cost,
    cast(part_on_demand_list_cost as decimal(38, 12)) as on_demand_list_cost,
    cast(part_contracted_cost as decimal(38, 12)) as contracted_cost,
    cast(part_weight as decimal(38, 12)) as carbon_weight,
    is_usage,
    is_usage and not is_weight_borrowed as is_weighted
from parts

union all

select
    source_name,
    usage_month,
    {{ charge_group_id() }} || '|rounding' as charge_group_id,
    delivery_content_hash,
    cast(line_count as bigint) as row_count,
    cast(null as string) as training_run_id,
    'rounding' as reason,
    'fee' as cost_component,
    cast(null as string) as attribution_rule,
    '1' as share_numerator,
    '1' as share_denominator,
    billing_currency,
    cast(unblended_cost as decimal(38, 12)) as billed_cost,
    cast(0 as decimal(38, 12)) as effective_cost,
    '' as accelerator_type,
    cast(0 as decimal(38, 12)) as list_cost,
    cast(null as decimal(38, 12)) as on_demand_list_cost,
    cast(null as decimal(38, 12)) as contracted_cost,
    cast(0 as decimal(38, 12)) as carbon_weight,
    false as is_usage,
    false as is_weighted
from roundings

{{ config(materialized='view') }}
{%- set measures = ['billed_cost', 'effective_cost', 'list_cost', 'on_demand_list_cost', 'contracted_cost', 'weight'] %}

with ambiguous_ids as (
    select distinct training_run_id from {{ ref('int_run_records') }}
    where is_ambiguous
),

named_ids as (
    select
        training_run_id,
        min(training_run_id) over () as first_run_id
    from ambiguous_ids
),

-- runs with an ambiguous id carry nothing: what they held together is one part
splits as (
    select
        splits.usage_month,
        splits.line_id,
        coalesce(named_ids.first_run_id, splits.part_id) as part_id,
        cast(sum(splits.w) as decimal(38, 0)) as w,
        {{ whole_sums(measures, 12) }}
    from {{ ref('int_split_charges') }} as splits
    left join named_ids on splits.part_id = named_ids.training_run_id
    group by all
),

shares as (
    select
        *,
        cast(sum(w) over (partition by usage_month, line_id) as decimal(38, 0)) as whole_w
    from splits
),

parts as (
    {{ charge_parts(ref('int_line_attributions'), 'shares', ref('int_named_charges'), ['part_id', 'w', 'whole_w']) }}
),

committed_lines as (
    select
        lines.usage_month,
        lines.line_id,
        coalesce(named_ids.first_run_id, lines.share_part_id) as share_part_id,
        lines.commitment_id,
        lines.commitment_kind,
        case when lines.is_refund then 'refund' else lines.commitment_part end as commitment_part,
        lines.commitment_part = 'purchase' and lines.is_recurring as is_recurring,
        lines.taken,
        {{ sums(['share_effective_cost'], 12) }},
        {{ whole_sums(['share_list_cost', 'share_contracted_cost'], 12) }}
    from {{ ref('int_committed_lines') }} as lines
    left join named_ids on lines.share_part_id = named_ids.training_run_id
    group by all
),

-- what of a part is of a commitment, and the rest; what counts the part itself is beside one of them
parts_of_commitments as (
    select
        parts.*,
        coalesce(lines.commitment_id, '') as commitment_id,
        coalesce(lines.commitment_kind, '') as commitment_kind,
        coalesce(lines.commitment_part, '') as commitment_part,
        coalesce(lines.is_recurring, false) as is_recurring,
        coalesce(lines.taken, 'whole') in ('whole', 'use', 'rest', 'effective') as is_main
        {%- for measure in ['billed_cost', 'effective_cost', 'list_cost', 'contracted_cost'] %},
        {{ of_commitment(measure) }} as own_{{ measure }}
        {%- endfor %}
    from parts
    left join committed_lines as lines
        on
            parts.line_id = lines.line_id
            and parts.usage_month = lines.usage_month
            and coalesce(parts.part_id, '') = lines.share_part_id
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
    -- where no run's time is known, the part of no run is the whole
    case
        when whole_w > 0 then cast(w as string)
        when whole_w is null or is_unheld_part then '1'
        else '0'
    end as share_numerator,
    case when whole_w > 0 then cast(whole_w as string) else '1' end as share_denominator,
    billing_currency,
    cast(own_billed_cost as decimal(38, 12)) as billed_cost,
    cast(own_effective_cost as decimal(38, 12)) as effective_cost,
    case when part_run_id is null then accelerator_type else '' end as accelerator_type,
    cast(own_list_cost as decimal(38, 12)) as list_cost,
    cast(case when is_main then part_on_demand_list_cost else 0 end as decimal(38, 12)) as on_demand_list_cost,
    cast(own_contracted_cost as decimal(38, 12)) as contracted_cost,
    cast(case when is_main then part_weight else 0 end as decimal(38, 12)) as carbon_weight,
    commitment_id,
    commitment_kind,
    commitment_part,
    is_recurring,
    is_usage,
    is_usage and not is_weight_borrowed as is_weighted
from parts_of_commitments
where is_main or own_billed_cost <> 0 or own_effective_cost <> 0 or own_list_cost <> 0 or own_contracted_cost <> 0

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
    '' as commitment_id,
    '' as commitment_kind,
    '' as commitment_part,
    false as is_recurring,
    false as is_usage,
    false as is_weighted
from roundings

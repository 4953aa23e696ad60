{#
  Every charge in its parts: what each run gets of it, or what no run carries and why. Two models read the parts: int_cell_parts adds
  them up, of the months of the build; fct_charge_attributions shows them, of whatever month is asked for.
  attributions, splits: int_line_attributions and int_split_charges, or those rows of them that count. Of run records only what decides here
  is read, so that a record of a machine that no bill names yet moves no charge.
  share_columns: further columns of splits.
#}
{% macro charge_parts(attributions, splits, share_columns=[]) %}
with charges_with_run as (
    select
        charges.*,
        attributions.attribution_rule,
        attributions.training_run_id,
        coalesce(attributions.is_ambiguous, false) as is_ambiguous,
        attributions.attribution_confidence,
        known_charges.line_id is not null as is_known
    from {{ ref('int_charges') }} as charges
    left join {{ attributions }} as attributions
        on charges.attribution_line_id = attributions.line_id and charges.usage_month = attributions.usage_month
    -- of charges, which are fewer than their parts
    left join {{ ref('int_known_charges') }} as known_charges
        on charges.line_id = known_charges.line_id and charges.usage_month = known_charges.usage_month
),

charge_parts as (
    select
        charges.*,
        case
            when split.part_id is null then charges.training_run_id
            when split.part_id <> '~residual' and ambiguous_runs.training_run_id is null then split.part_id
        end as part_run_id,
        ambiguous_runs.training_run_id is not null as is_ambiguous_part,
        coalesce(split.part_id, '') = '~residual' as is_unheld_part
        {%- for column in share_columns %},
        split.{{ column }}
        {%- endfor %}
        {%- for measure in ['billed_cost', 'effective_cost', 'list_cost', 'on_demand_list_cost', 'contracted_cost', 'weight'] %},
        case when split.part_id is null then charges.{{ measure }} else split.{{ measure }} end as part_{{ measure }}
        {%- endfor %}
    from charges_with_run as charges
    -- one equality: a condition on the left side alone would make this a comparison of every pair
    left join {{ splits }} as split
        on
            case when charges.attribution_rule in ('resource_time', 'cluster_key') then charges.line_id end = split.line_id
            and charges.usage_month = split.usage_month
    left join {{ ref('int_ambiguous_runs') }} as ambiguous_runs on split.part_id = ambiguous_runs.training_run_id
    -- a node held throughout leaves no residual: its empty part would be a row about nothing
    where
        not coalesce(
            split.part_id = '~residual'
            and split.w = 0
            and split.billed_cost = 0
            and split.effective_cost = 0
            and split.weight = 0,
            false
        )
)

select
    parts.*,
    case
        when parts.part_run_id is not null then null
        when parts.fixed_reason is not null then parts.fixed_reason
        when parts.is_ambiguous or parts.is_ambiguous_part then 'unattributed'
        -- a discount of a machine that no run held would make its idle hours negative
        when not parts.is_part_of_usage then 'unattributed'
        -- the cluster states that no pod asked for it, or that it is no pod's, or that it is unclear
        when parts.pod_allocation = 'unallocated' then 'idle'
        -- idle needs somebody who could have known: where records name no such accelerator of the account, none of its time is
        when parts.is_accelerator_type and recorded.usage_month is null and parts.sub_account_id <> '' then 'no_record'
        when parts.pod_allocation in ('overhead', 'unknown') then 'unlogged'
        -- a pod's share was used, whoever it was
        when parts.is_accelerator_type and parts.pod_allocation <> 'pod' and (
            parts.is_unheld_part
            or parts.is_block_hour
            or parts.is_known
        ) then 'idle'
        when parts.sub_account_id = '' then 'no_project'
        when parts.is_accelerator_type or parts.cost_component = 'accelerator' then 'unlogged'
        else 'non_accelerator'
    end as reason
from charge_parts as parts
left join {{ ref('int_recorded_accelerators') }} as recorded
    on
        parts.usage_month = recorded.usage_month
        and parts.provider_name = recorded.provider_name
        and parts.sub_account_id = recorded.sub_account_id
        and coalesce(parts.instance_type, '') = recorded.instance_type
{% endmacro %}

{# The name of a group of bill rows: what cell it is of, in twelve characters, then the first of its rows by object and number. #}
{% macro charge_group_id() -%}
substr(md5({{ cell_id() }}), 1, 12) || substr(line_id, length(source_name) + 1)
{%- endmacro %}

{# The CTEs `named_ids`, `splits` and `shares`: of each charge its parts, with the weight of the part and of the whole. #}
{% macro shares_of_runs() -%}
{%- set measures = ['billed_cost', 'effective_cost', 'list_cost', 'on_demand_list_cost', 'contracted_cost', 'weight'] -%}
named_ids as (
    select
        training_run_id,
        min(training_run_id) over () as first_run_id
    from {{ ref('int_ambiguous_runs') }}
),

-- runs with an ambiguous id carry nothing: what they held together is one part
splits as (
    select splits.usage_month, splits.line_id, splits.part_id, splits.w, splits.{{ measures | join(', splits.') }}
    from {{ ref('int_split_charges') }} as splits
    left join named_ids on splits.part_id = named_ids.training_run_id
    where named_ids.training_run_id is null

    union all

    select
        splits.usage_month,
        splits.line_id,
        named_ids.first_run_id as part_id,
        cast(sum(splits.w) as decimal(38, 0)) as w,
        {{ whole_sums(measures, 12) }}
    from {{ ref('int_split_charges') }} as splits
    inner join named_ids on splits.part_id = named_ids.training_run_id
    group by splits.usage_month, splits.line_id, named_ids.first_run_id
),

shares as (
    select
        *,
        cast(sum(w) over (partition by usage_month, line_id) as decimal(38, 0)) as whole_w
    from splits
)
{%- endmacro %}

{# Which part of its group a row of parts is, as two whole numbers. Where no run's time is known, the part of no run is the whole. #}
{% macro share_of_part() -%}
case
        when whole_w > 0 then cast(w as string)
        when whole_w is null or is_unheld_part then '1'
        else '0'
    end as share_numerator,
    case when whole_w > 0 then cast(whole_w as string) else '1' end as share_denominator
{%- endmacro %}

{# What of a measure of a part of the bill is of a commitment, or of none: lines are rows of int_committed_lines beside the parts. #}
{% macro of_commitment(measure) -%}
case coalesce(lines.taken, 'whole')
            when 'whole' then parts.part_{{ measure }}
            {%- if measure == 'billed_cost' %}
            when 'billed' then parts.part_{{ measure }}
            when 'rest' then parts.part_{{ measure }}
            {%- else %}
            {%- if measure == 'effective_cost' %}
            when 'effective' then parts.part_{{ measure }}
            {%- endif %}
            when 'use' then parts.part_{{ measure }}
            when 'share' then lines.share_{{ measure }}
            when 'rest' then {{ exact_sum(['parts.part_' ~ measure, '-lines.share_' ~ measure], 12) }}
            {%- endif %}
            else cast(0 as decimal(38, 12))
        end
{%- endmacro %}

{{ config(materialized='by_month') }}
{%- set zero = 'cast(0 as decimal(38, 12))' %}

with plans as (
    select payer_account_id, plan_id, min(plan_arn) as plan_arn, min(usage_month) as first_month
    from {{ ref('int_saving_plan_names') }}
    group by all
),

aws_lines as (
    select
        lines.*,
        -- of a row that is divided among pods each part
        coalesce(pods.line_id, lines.line_id) as charge_id,
        coalesce(plans.plan_arn, lines.commitment_id) as full_commitment_id
    from {{ ref('int_aws_lines') }} as lines
    left join plans
        on
            lines.payer_account_id = plans.payer_account_id
            and lines.commitment_id = plans.plan_id
            and plans.first_month <= lines.usage_month
    left join {{ built_months_of(ref('int_aws_pod_charges')) }} as pods
        on lines.usage_month = pods.usage_month and lines.line_id = pods.bill_line_id
    where
        {{ in_build_months('lines.usage_month') }}
        and lines.commitment_kind is not null
        and lines.line_item_type <> 'SavingsPlanNegation'
),

-- a row that pays for a commitment is a purchase, and what it states was not used is a row of use beside it
whole_lines as (
    select
        usage_month, charge_id as line_id, full_commitment_id as commitment_id, commitment_kind,
        commitment_kind = 'savings_plan' as is_spend_based,
        case when is_usage then 'used' else 'fee' end as kind_of_line,
        line_item_type in ('SavingsPlanRecurringFee', 'RIFee', 'DiscountedUsage') as is_recurring,
        -- a discount of the purchase lowers it, as in fct_prepaid
        billed_cost < 0 and line_item_type not like '%Discount' as is_refund
    from aws_lines

    union all

    select
        usage_month, line_id, commitment_id, 'committed_use' as commitment_kind, is_spend_based_fee as is_spend_based,
        'fee' as kind_of_line, true as is_recurring, billed_cost < 0 as is_refund
    from {{ ref('int_gcp_lines') }}
    where is_commitment_fee and {{ in_build_months() }}
),

-- of a divided row each part: readers join by it, and by nothing that would compare every pair
whole_parts as (
    select whole_lines.*, '' as share_part_id from whole_lines

    union all

    select whole_lines.*, split.part_id as share_part_id
    from whole_lines
    inner join {{ built_months_of(ref('int_split_charges')) }} as split
        on whole_lines.usage_month = split.usage_month and whole_lines.line_id = split.line_id
)

select
    usage_month, line_id, share_part_id, commitment_id, commitment_kind, is_spend_based, is_recurring,
    'used' as commitment_part, false as is_refund, 'use' as taken,
    {{ zero }} as share_effective_cost, {{ zero }} as share_list_cost, {{ zero }} as share_contracted_cost
from whole_parts
where kind_of_line = 'used'
{#- what is billed with the use that a commitment covers is paid for the commitment, as in fct_prepaid #}
{%- for part in ['purchase', 'unused'] %}

union all

select
    usage_month, line_id, share_part_id, commitment_id, commitment_kind, is_spend_based, is_recurring,
    '{{ part }}' as commitment_part, {{ 'is_refund' if part == 'purchase' else 'false as is_refund' }},
    '{{ 'billed' if part == 'purchase' else 'effective' }}' as taken,
    {{ zero }} as share_effective_cost, {{ zero }} as share_list_cost, {{ zero }} as share_contracted_cost
from whole_parts
{%- if part == 'unused' %}
where kind_of_line = 'fee'
{%- endif %}
{%- endfor %}

union all

select
    usage_month, line_id, part_id as share_part_id, commitment_id, commitment_kind, is_spend_based, false as is_recurring,
    commitment_part, false as is_refund, 'share' as taken, effective_cost, list_cost, contracted_cost
from {{ ref('int_commitment_shares') }}
where {{ in_build_months() }}

union all

select
    usage_month, line_id, part_id as share_part_id, '' as commitment_id, '' as commitment_kind, false as is_spend_based,
    false as is_recurring, '' as commitment_part, false as is_refund, 'rest' as taken,
    cast(sum(effective_cost) as decimal(38, 12)) as share_effective_cost,
    {{ whole_sum('list_cost', 'decimal(38, 12)') }} as share_list_cost,
    {{ whole_sum('contracted_cost', 'decimal(38, 12)') }} as share_contracted_cost
from {{ ref('int_commitment_shares') }}
where {{ in_build_months() }}
group by usage_month, line_id, part_id

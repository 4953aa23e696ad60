{{ config(materialized='by_month', meta={'empty_without': ['int_line_attributions']}) }}

with charge_parts as (
    {{ charge_parts(
        built_months_of(ref('int_line_attributions')),
        built_months_of(ref('int_split_charges'))
    ) }}
),

covered_lines as (
    select distinct line_id from {{ ref('int_gcp_commitment_shares') }}
    where is_used
),

purchases as (
    select
        usage_month,
        line_id,
        case
            when {{ matches('usage_type', '(SpotUsage|TrSpt)') }} then 'spot'
            when line_item_type in ('SavingsPlanCoveredUsage', 'DiscountedUsage') then 'commitment'
            else 'on_demand'
        end as purchase_option
    from {{ ref('int_aws_lines') }}
    where {{ in_build_months() }} and is_usage and cost_component = 'accelerator'

    union all

    select
        lines.usage_month,
        lines.line_id,
        -- a commitment covers use that is billed on demand
        case
            when lines.purchase_mode = 'on_demand' and covered_lines.line_id is not null then 'commitment'
            else lines.purchase_mode
        end as purchase_option
    from {{ ref('int_gcp_lines') }} as lines
    left join covered_lines on lines.line_id = covered_lines.line_id
    where {{ in_build_months('lines.usage_month') }} and lines.is_usage and lines.cost_component = 'accelerator'
)

select
    parts.part_run_id as training_run_id,
    parts.usage_month,
    parts.provider_name,
    parts.region_id,
    parts.instance_type as accelerator_type,
    case when parts.is_block_hour then 'capacity_block' else purchases.purchase_option end as purchase_option,
    parts.billing_currency,
    cast(sum(parts.part_effective_cost) as decimal(38, 12)) as effective_cost,
    {{ whole_sum('parts.part_list_cost', 'decimal(38, 12)') }} as list_cost
from charge_parts as parts
inner join purchases on parts.usage_month = purchases.usage_month and parts.bill_line_id = purchases.line_id
where parts.part_run_id is not null
group by all

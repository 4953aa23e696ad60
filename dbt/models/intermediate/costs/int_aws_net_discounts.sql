{{ config(materialized='by_month') }}
{%- set within = 'cast(abs({}) as double) <= greatest(1e-2, 1e-7 * abs(cast(gross_cost as double)))' %}

-- where a bill has net columns and discounts on rows of their own, both are the same money: before and after it adds up to one
-- amount
with sums as (
    select
        lines.source_name,
        lines.payer_account_id,
        lines.invoicing_entity,
        lines.usage_month,
        lines.billing_currency,
        lines.is_book,
        bool_or(lines.line_item_type like '%Discount') as has_discounts,
        cast(sum(lines.gross_unblended_cost) as decimal(38, 12)) as gross_cost,
        cast(sum(lines.unblended_cost) as decimal(38, 12)) as net_cost,
        cast(sum(case when lines.line_item_type not like '%Discount' then lines.unblended_cost else 0 end) as decimal(38, 12))
            as net_cost_of_others
    from {{ ref('int_aws_line_groups') }} as lines
    where not {{ aws_is_of_plan('lines') }}
    group by all
)

select
    source_name,
    payer_account_id,
    invoicing_entity,
    usage_month,
    billing_currency,
    is_book,
    gross_cost,
    net_cost,
    net_cost_of_others,
    {{ within.format(exact_sum(['net_cost_of_others', '-gross_cost'], 12)) }} as is_counted_in_others
from sums
where has_discounts and not ({{ within.format(exact_sum(['net_cost', '-gross_cost'], 12)) }})

{{ config(materialized='by_month', meta={'rebuilt_for': 'status'}) }}

with lines as (
    select provider_name, payer_account_id, usage_month, bool_and(is_invoiced) as is_invoiced
    from {{ ref('int_cell_parts') }}
    group by all
)

select
    months.provider_name,
    months.payer_account_id,
    months.usage_month,
    months.is_bill_landed,
    months.is_carbon_published,
    months.is_carbon_final,
    coalesce(lines.is_invoiced and months.is_bill_closed, false) as is_bill_final
from {{ source('raw', 'months') }} as months
left join lines using (provider_name, payer_account_id, usage_month)

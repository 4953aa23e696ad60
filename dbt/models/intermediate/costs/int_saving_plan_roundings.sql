{{ config(materialized='by_month') }}

select
    source_name,
    provider_name,
    payer_account_id,
    payer_account_id as sub_account_id,
    '' as service_code,
    '' as region_id,
    usage_month,
    billing_currency,
    cast(sum(unblended_cost) as decimal(38, 12)) as billed_cost
from {{ ref('int_aws_lines') }}
where line_item_type in ('SavingsPlanCoveredUsage', 'SavingsPlanNegation') and not is_pod
group by all
having sum(unblended_cost) <> 0

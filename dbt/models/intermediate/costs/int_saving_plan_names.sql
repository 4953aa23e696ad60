{{ config(materialized='by_month') }}

select
    usage_month,
    payer_account_id,
    regexp_extract(commitment_id, '([^/]+)$', 1) as plan_id,
    min(commitment_id) as plan_arn
from {{ ref('int_aws_lines') }}
where commitment_kind = 'savings_plan' and commitment_id like 'arn:%/%'
group by all

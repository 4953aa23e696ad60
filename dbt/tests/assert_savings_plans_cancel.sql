-- Covered usage and negation cancel per payer and month but for a rounding; more is a broken delivery.
-- What remains is in the ledger as rounding.
{{ config(severity='warn', meta={'dagster': {'ref': {'name': 'int_saving_plan_roundings'}}}) }}
select *
from {{ ref('int_saving_plan_roundings') }}
where {{ of_built_months() }} and abs(billed_cost) >= 1

-- Conservation: provider total = runs + residual + quarantined, in every cell, measure, currency and model version.
{{ config(meta={'dagster': {'ref': {'name': 'fct_reconciliation'}}}) }}
select *
from {{ ref('fct_reconciliation') }}
where {{ of_built_months() }} and method = 'conservation' and difference is distinct from 0

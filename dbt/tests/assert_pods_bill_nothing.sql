-- A pod's row shows which part of its instance's cost the pod used: the money is billed with the instance.
-- An amount on one would be news about the format. It is in the ledger as a residual of billed cost.
{{ config(severity='warn', meta={'dagster': {'ref': {'name': 'int_aws_lines'}}}) }}
select line_id, line_item_type, usage_type, resource_id, billing_currency, billed_cost
from {{ ref('int_aws_lines') }}
where {{ of_built_months() }} and is_pod and billed_cost <> 0

-- The published run costs are the sums of their cells, measure by measure.
{{ config(meta={'dagster': {'ref': {'name': 'fct_training_run_costs'}}}) }}
with cells as (
    select * from {{ ref('fct_run_cell_costs') }}
    where {{ of_built_months() }}
),

runs as (
    select * from {{ ref('fct_training_run_costs') }}
    where status not in ('no_cell', 'not_published') and {{ of_built_months() }}
)

{{ unequal_sums(
    'cells', 'runs', 'training_run_id, usage_month, billing_currency',
    ['billed_cost', 'effective_cost', 'idle_share_billed_cost', 'idle_share_effective_cost'], 12
) }}

-- The published run costs are the sums of their cells, measure by measure. An effective cost that is unknown for want of a price
-- is the sum of nothing: its cells are left out.
{{ config(meta={'dagster': {'ref': {'name': 'fct_training_run_costs'}}}) }}
with runs as (
    select * from {{ ref('fct_training_run_costs') }}
    where status not in ('no_cell', 'not_published') and {{ of_built_months() }}
),

unpriced as (
    select distinct training_run_id, usage_month, cost_component, true as is_unpriced from runs
    where effective_cost is null
),

cells as (
    select
        training_run_id,
        usage_month,
        cells.billing_currency,
        cells.billed_cost,
        case when unpriced.is_unpriced is null then cells.effective_cost end as effective_cost,
        cells.idle_share_billed_cost,
        cells.idle_share_effective_cost
    from {{ ref('fct_run_cell_costs') }} as cells
    left join unpriced using (training_run_id, usage_month, cost_component)
    where {{ of_built_months() }}
)

{{ unequal_sums(
    'cells', 'runs', 'training_run_id, usage_month, billing_currency',
    ['billed_cost', 'effective_cost', 'idle_share_billed_cost', 'idle_share_effective_cost'], 12
) }}

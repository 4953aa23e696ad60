-- The published run costs are the sums of their cells, measure by measure.
{{ config(meta={'dagster': {'ref': {'name': 'fct_training_run_costs'}}}) }}
with cells as (
    select training_run_id, usage_month, billing_currency,
        cast(sum(billed_cost) as decimal(38, 12)) as billed_cost, cast(sum(effective_cost) as decimal(38, 12)) as effective_cost,
        cast(sum(idle_share_billed_cost) as decimal(38, 12)) as idle_share_billed_cost,
        cast(sum(idle_share_effective_cost) as decimal(38, 12)) as idle_share_effective_cost
    from {{ ref('fct_run_cell_costs') }}
    group by training_run_id, usage_month, billing_currency
),

runs as (
    select training_run_id, usage_month, billing_currency,
        cast(sum(billed_cost) as decimal(38, 12)) as billed_cost, cast(sum(effective_cost) as decimal(38, 12)) as effective_cost,
        cast(sum(idle_share_billed_cost) as decimal(38, 12)) as idle_share_billed_cost,
        cast(sum(idle_share_effective_cost) as decimal(38, 12)) as idle_share_effective_cost
    from {{ ref('fct_training_run_costs') }}
    where status not in ('no_cell', 'not_published')
    group by training_run_id, usage_month, billing_currency
)

select
    training_run_id,
    usage_month,
    billing_currency,
    cells.billed_cost as cells_billed_cost,
    runs.billed_cost as runs_billed_cost,
    cells.effective_cost as cells_effective_cost,
    runs.effective_cost as runs_effective_cost,
    cells.idle_share_billed_cost as cells_idle_share_billed_cost,
    runs.idle_share_billed_cost as runs_idle_share_billed_cost,
    cells.idle_share_effective_cost as cells_idle_share_effective_cost,
    runs.idle_share_effective_cost as runs_idle_share_effective_cost
from cells
full outer join runs using (training_run_id, usage_month, billing_currency)
where
    cells.billed_cost is distinct from runs.billed_cost
    or cells.effective_cost is distinct from runs.effective_cost
    or cells.idle_share_billed_cost is distinct from runs.idle_share_billed_cost
    or cells.idle_share_effective_cost is distinct from runs.idle_share_effective_cost

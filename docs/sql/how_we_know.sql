-- By which evidence is accelerator cost given to runs, and how much of it has no run?
-- Taken from the cells, so that runs and residuals are seen side by side, residuals (marts.fct_residual_costs) from their totals by month.
with attributed as (
    select usage_month, billing_currency, attribution_rule as evidence, sum(effective_cost) as effective_cost
    from marts.fct_run_cell_costs
    where cost_component = 'accelerator'
    group by all
),

unattributed as (
    select usage_month, billing_currency, 'none: ' || reason as evidence, sum(effective_cost) as effective_cost
    from ops.residual_months
    -- a commitment of accelerators that was not used is component fee
    where cost_component = 'accelerator' or accelerator_type <> ''
    group by all
),

all_evidence as (
    select * from attributed
    union all
    select * from unattributed
)

select
    usage_month,
    billing_currency,
    evidence,
    effective_cost,
    -- a ratio, for reading
    cast(effective_cost as double)
        / nullif(cast(sum(effective_cost) over (partition by usage_month, billing_currency) as double), 0) as share_of_month
from all_evidence
order by usage_month, billing_currency, effective_cost desc, evidence;

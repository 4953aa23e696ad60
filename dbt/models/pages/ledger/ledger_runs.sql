-- of a run with two currencies, by the greater amount
with costs as (
    select training_run_id, billing_currency, max(usage_month) as last_month, sum(effective_cost) as effective_cost
    from {{ ref('fct_training_run_costs') }}
    group by training_run_id, billing_currency
),

runs as (
    select
        runs.training_run_id,
        coalesce(strftime(max(costs.last_month), '%Y-%m'), 'undated') as last_month,
        max(costs.effective_cost) as effective_cost
    from {{ ref('dim_training_runs') }} as runs
    left join costs using (training_run_id)
    group by runs.training_run_id
)

select
    last_month, training_run_id,
    row_number() over (partition by last_month order by effective_cost desc nulls last, training_run_id) as position
from runs

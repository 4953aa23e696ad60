-- by which evidence the bill's rows went to the run
select
    training_run_id, billing_currency, cost_component, attribution_rule, attribution_confidence,
    {{ whole_sums(['effective_cost'], 12) }},
    cast(sum(idle_share_effective_cost) as decimal(38, 12)) as idle_share_effective_cost
from {{ ref('fct_training_run_costs') }}
where status not in ('not_published', 'no_cell')
group by all

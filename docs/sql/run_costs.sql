-- What did each run cost? One row per run and currency: on the invoice, spread over commitments, at list price,
-- and fully loaded with its share of idle and unused capacity. Credits are left out: they depend on the contract, not on the run.
-- list_cost is shown only when every part of it is known: half a total is not a total.
select
    runs.training_run_id,
    runs.model_name,
    runs.accelerator_type,
    runs.state,
    costs.billing_currency,
    sum(costs.billed_cost) as billed_cost,
    sum(costs.effective_cost) as effective_cost,
    case when count(*) = count(costs.list_cost) then sum(costs.list_cost) end as list_cost,
    sum(costs.effective_cost + costs.idle_share_effective_cost) as fully_loaded_effective_cost,
    bool_and(costs.status = 'final') as is_final
from marts.fct_training_run_costs as costs
inner join marts.dim_training_runs as runs on costs.training_run_id = runs.training_run_id
where costs.cost_component <> 'credit'
group by all
order by costs.billing_currency, effective_cost desc, runs.training_run_id;

{{ config(meta={'empty_without': ['fct_purchase_costs']}) }}
with lost_runs as (
    select training_run_id, cast(sum(effective_cost) as double) as effective_cost
    from {{ ref('fct_lost_work') }}
    where cause <> 'idle'
    group by training_run_id
),

-- what of a run's cost went into attempts that failed or were interrupted
run_losses as (
    select
        costs.training_run_id,
        count(*) = count(costs.effective_cost) as is_cost_known,
        least(coalesce(max(lost.effective_cost), 0) / nullif(cast(sum(costs.effective_cost) as double), 0), 1e0) as lost_share
    from {{ ref('fct_training_run_costs') }} as costs
    left join lost_runs as lost using (training_run_id)
    group by costs.training_run_id
),

run_purchases as (
    select
        purchases.training_run_id,
        types.accelerator_family as side,
        purchases.purchase_option as test,
        purchases.billing_currency,
        cast(sum(purchases.effective_cost) as decimal(38, 12)) as effective_cost,
        case when count(*) = count(purchases.list_cost) then cast(sum(purchases.list_cost) as decimal(38, 12)) end as list_cost
    from {{ ref('fct_purchase_costs') }} as purchases
    inner join {{ ref('dim_accelerators') }} as types using (accelerator_type)
    cross join {{ ref('int_asked_window') }} as asked
    -- the list price of Google's Spot is that of Spot
    where
        purchases.provider_name = 'AWS' and purchases.purchase_option in ('spot', 'commitment')
        and purchases.usage_month >= asked.window_start
        and purchases.usage_month < asked.window_end
    group by purchases.training_run_id, types.accelerator_family, purchases.purchase_option, purchases.billing_currency
)

-- against what the work that was of use would have cost on demand, where nothing is interrupted
select
    run_purchases.side,
    run_purchases.test,
    count(*) as run_count,
    {%- set saving -%}
    case
        when
            count(*) = count(run_purchases.list_cost)
            and count(distinct run_purchases.billing_currency) = 1
            and bool_and(coalesce(run_losses.is_cost_known, true))
            then 1 - cast(sum(run_purchases.effective_cost) as double) / nullif(cast(sum(cast(
                cast(run_purchases.list_cost as double)
                * case when run_purchases.test = 'spot' then 1 - coalesce(run_losses.lost_share, 0) else 1e0 end
                as decimal(38, 12)
            )) as double), 0)
    end
    {%- endset %}
    {{ significant(saving) }} as saving
from run_purchases
left join run_losses using (training_run_id)
group by run_purchases.side, run_purchases.test

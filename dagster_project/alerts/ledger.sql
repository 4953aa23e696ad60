-- What is worth a message in the published tables, each question by its name. `is_news`: of this month or the last; older rows
-- begin no message, but one that was sent lasts as long as its row is here. Amounts of two currencies never meet.

-- a run that costs more than a run of its workload may, or where that has no budget, of its team
-- name: budget
with budgets as (
    select
        unnest($names) as name,
        cast(unnest($amounts) as decimal(38, 12)) as amount,
        unnest($currencies) as currency
),

costs as (
    select training_run_id, billing_currency as currency, sum(effective_cost) as cost, max(usage_month) as last_month
    from marts.fct_training_run_costs
    group by all

    union all

    -- a run billed in several currencies, or in another than the budget's: its whole cost, where every row is converted
    select training_run_id, $reporting_currency, sum(reporting_currency_effective_cost), max(usage_month)
    from marts.fct_training_run_costs
    group by training_run_id
    having count(*) = count(reporting_currency_effective_cost) and bool_or(billing_currency <> $reporting_currency)
),

of_runs as (
    select
        runs.training_run_id, runs.recorded_id, runs.state, budgets.name, budgets.amount, budgets.currency, costs.cost,
        costs.last_month,
        row_number() over (
            partition by runs.training_run_id order by budgets.name = runs.workload_key desc nulls last, costs.cost desc
        ) as choice
    from marts.dim_training_runs as runs
    inner join budgets on budgets.name = runs.workload_key or budgets.name = runs.team
    inner join costs on runs.training_run_id = costs.training_run_id and budgets.currency = costs.currency
)

select
    training_run_id, last_month >= $news_from as is_news, recorded_id as run, state, name, cost, currency, amount as "limit"
from of_runs
where choice = 1 and cost > amount
order by training_run_id

-- a run that costs more than twice the median of the other succeeded runs of its workload, type and currency, if they are five
-- name: peers
with costs as (
    select
        training_run_id, any_value(billing_currency) as currency, sum(effective_cost) as cost, max(usage_month) as last_month
    from marts.fct_training_run_costs
    group by all
    having min(billing_currency) = max(billing_currency) and sum(effective_cost) > 0
),

runs as (
    select
        training_run_id, runs.recorded_id, runs.state, runs.workload_key, runs.accelerator_type, currency, cost, last_month,
        runs.state = 'succeeded' as is_peer
    from costs
    inner join marts.dim_training_runs as runs using (training_run_id)
    where runs.workload_key is not null and runs.accelerator_type is not null
),

ranked as (
    select
        *,
        row_number() over (
            partition by workload_key, accelerator_type, currency, is_peer order by cost, training_run_id
        ) as place,
        count(*) filter (is_peer) over (partition by workload_key, accelerator_type, currency)
        - case when is_peer then 1 else 0 end as peers
    from runs
),

-- the two places of the median among the others: from a run's own place on, the others are one place further
placed as (
    select
        *,
        (peers + 1) // 2 + case when is_peer and (peers + 1) // 2 >= place then 1 else 0 end as lower_place,
        peers // 2 + 1 + case when is_peer and peers // 2 + 1 >= place then 1 else 0 end as upper_place
    from ranked
    where peers >= 5
)

select
    placed.training_run_id, placed.last_month >= $news_from as is_news, placed.recorded_id as run, placed.state, placed.cost,
    placed.currency, placed.peers, placed.workload_key as workload, placed.accelerator_type as type,
    low.cost + high.cost as twice
from placed
inner join ranked as low
    on
        placed.workload_key = low.workload_key
        and placed.accelerator_type = low.accelerator_type
        and placed.currency = low.currency
        and placed.lower_place = low.place
        and low.is_peer
inner join ranked as high
    on
        placed.workload_key = high.workload_key
        and placed.accelerator_type = high.accelerator_type
        and placed.currency = high.currency
        and placed.upper_place = high.place
        and high.is_peer
where placed.cost > low.cost + high.cost -- twice the median of an even number is the sum of the two in the middle
order by placed.training_run_id

-- name: waste
select
    reason as event,
    concat_ws('/', strftime(usage_month, '%Y-%m'), provider_name, payer_account_id, sub_account_id, accelerator_type) as cell,
    usage_month >= $news_from as is_news,
    strftime(usage_month, '%Y-%m') as month,
    concat_ws(', ', provider_name, 'account ' || coalesce(nullif(sub_account_id, ''), payer_account_id), nullif(accelerator_type, ''))
        as place,
    sum(effective_cost) as cost,
    billing_currency as currency
from marts.fct_residual_costs
where reason in ('idle', 'unused_commitment') and billing_currency = $currency
group by
    reason, usage_month, provider_name, payer_account_id, sub_account_id, accelerator_type, billing_currency
having sum(effective_cost) > cast($amount as decimal(38, 12))
order by event, cell

-- headline figures and datapoints of issued reports that are known otherwise; whether they are to be restated, the policy decides
-- name: restated
select report_id as report, datapoint_id as figure, was, known_now, steps
from (
    select
        report_id, datapoint_id,
        max("before") filter (where cause = 'code') as was,
        max("after") filter (where cause = 'factor_or_seed') as known_now,
        map_from_entries(list((cause, delta))) as steps
    from marts.fct_restatements
    where regexp_matches(datapoint_id, '/(glance/[^/]+|datapoints/[^/]+/value)$')
    group by all
)
where was is distinct from known_now and list_contains($reports, report_id)
order by all

-- of each team the runs that ended in a week, and the cost of the month so far
-- name: week
with runs as (
    select training_run_id, coalesce(team, '(no team)') as team, ended_at >= $monday and ended_at < $sunday_end as is_of_week
    from marts.dim_training_runs
),

costs as (
    select
        training_run_id, billing_currency as currency, sum(effective_cost) as cost,
        sum(effective_cost) filter (where usage_month = $month) as cost_of_month
    from marts.fct_training_run_costs
    group by all
)

select
    runs.team, costs.currency,
    count(*) filter (where is_of_week) as runs_ended,
    sum(cost) filter (where is_of_week) as cost,
    sum(cost_of_month) as cost_of_month
from runs
inner join costs using (training_run_id)
group by all
having count(*) filter (where is_of_week) > 0 or sum(cost_of_month) > 0
order by cost_of_month desc nulls last, team, currency

-- ids of records and jobs that were a run's before it had its present id, or may become it; names that are used again are none
-- name: names
select records.training_run_id, list(distinct names.name)
from intermediate.int_run_records as records
inner join (
    select record_run_id, record_run_id as name from intermediate.int_run_records

    union all

    select record_run_id, alias_id from staging.stg_training_runs__aliases
    where alias_system <> 'kubernetes' and (alias_system <> 'vertex' or alias_id like '%/customJobs/%')
) as names using (record_run_id)
where list_contains($runs, records.training_run_id)
group by all

-- The fully loaded view moves idle cost inside a cell and loses nothing: what residuals spread is what runs receive.
{{ config(meta={'dagster': {'ref': {'name': 'fct_residual_costs'}}}) }}
with sent as (
    select
        {{ cell() }},
        billing_currency,
        cast(sum(spread_billed_cost) as decimal(38, 12)) as billed_cost,
        cast(sum(spread_effective_cost) as decimal(38, 12)) as effective_cost
    from {{ ref('fct_residual_costs') }}
    group by {{ cell() }}, billing_currency
    having sum(spread_billed_cost) <> 0 or sum(spread_effective_cost) <> 0
),

received as (
    select
        {{ cell() }},
        billing_currency,
        cast(sum(idle_share_billed_cost) as decimal(38, 12)) as billed_cost,
        cast(sum(idle_share_effective_cost) as decimal(38, 12)) as effective_cost
    from {{ ref('fct_run_cell_costs') }}
    group by {{ cell() }}, billing_currency
    having sum(idle_share_billed_cost) <> 0 or sum(idle_share_effective_cost) <> 0
)

select
    {{ cell() }},
    billing_currency,
    sent.billed_cost as sent_billed_cost,
    received.billed_cost as received_billed_cost,
    sent.effective_cost as sent_effective_cost,
    received.effective_cost as received_effective_cost
from sent
full outer join received using ({{ cell() }}, billing_currency)
where sent.billed_cost is distinct from received.billed_cost or sent.effective_cost is distinct from received.effective_cost

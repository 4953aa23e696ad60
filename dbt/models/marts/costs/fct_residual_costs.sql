{{ config(materialized='by_month') }}

with spreads as (
    select
        {{ cell() }}, billing_currency, residual_cost_component as cost_component, reason,
        {{ sums(['billed_cost', 'effective_cost'], 12) }}
    from {{ ref('int_idle_cost_shares') }}
    group by all
)

select
    {{ cell_of('parts') }},
    parts.billing_currency,
    parts.cost_component,
    parts.reason,
    parts.billed_cost,
    parts.effective_cost,
    parts.list_cost,
    parts.contracted_cost,
    cast(coalesce(spreads.billed_cost, 0) as decimal(38, 12)) as spread_billed_cost,
    cast(coalesce(spreads.effective_cost, 0) as decimal(38, 12)) as spread_effective_cost
from {{ ref('int_cell_parts') }} as parts
left join spreads using ({{ cell() }}, billing_currency, cost_component, reason)
where parts.training_run_id is null

union all

select
    {{ cell() }},
    billing_currency,
    'fee' as cost_component,
    'rounding' as reason,
    billed_cost,
    -- on the invoice, but nothing was used for it
    cast(0 as decimal(38, 12)) as effective_cost,
    cast(0 as decimal(38, 12)) as list_cost,
    cast(null as decimal(38, 12)) as contracted_cost,
    cast(0 as decimal(38, 12)) as spread_billed_cost,
    cast(0 as decimal(38, 12)) as spread_effective_cost
from {{ ref('int_saving_plan_roundings') }}

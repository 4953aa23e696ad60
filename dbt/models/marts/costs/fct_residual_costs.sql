{{ config(materialized='by_month') }}

-- what is spread goes to the runs of its cell whole, so every part of it does, of whatever type
with spreads as (
    select distinct {{ cell() }}, billing_currency, residual_cost_component as cost_component, reason, true as is_spread
    from {{ ref('int_idle_cost_shares') }}
)

select
    {{ cell_of('parts') }},
    parts.billing_currency,
    parts.cost_component,
    parts.accelerator_type,
    parts.reason,
    parts.billed_cost,
    parts.effective_cost,
    parts.list_cost,
    parts.contracted_cost,
    case when spreads.is_spread then parts.billed_cost else cast(0 as decimal(38, 12)) end as spread_billed_cost,
    case when spreads.is_spread then parts.effective_cost else cast(0 as decimal(38, 12)) end as spread_effective_cost
from {{ ref('int_cell_parts') }} as parts
left join spreads using ({{ cell() }}, billing_currency, cost_component, reason)
where parts.training_run_id is null

union all

select
    {{ cell() }},
    billing_currency,
    'fee' as cost_component,
    '' as accelerator_type,
    'rounding' as reason,
    billed_cost,
    -- on the invoice, but nothing was used for it
    cast(0 as decimal(38, 12)) as effective_cost,
    cast(0 as decimal(38, 12)) as list_cost,
    cast(null as decimal(38, 12)) as contracted_cost,
    cast(0 as decimal(38, 12)) as spread_billed_cost,
    cast(0 as decimal(38, 12)) as spread_effective_cost
from {{ ref('int_saving_plan_roundings') }}

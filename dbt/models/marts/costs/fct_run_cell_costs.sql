{{ config(materialized='by_month') }}

with idle_shares as (
    select
        {{ cell() }}, billing_currency, training_run_id, cost_component, attribution_rule,
        {{ sums(['billed_cost', 'effective_cost'], 12) }}
    from {{ ref('int_idle_cost_shares') }}
    group by all
)

select
    parts.training_run_id,
    {{ cell_of('parts') }},
    parts.billing_currency,
    parts.cost_component,
    parts.attribution_rule,
    parts.billed_cost,
    parts.effective_cost,
    parts.list_cost,
    parts.contracted_cost,
    cast(coalesce(idle_shares.billed_cost, 0) as decimal(38, 12)) as idle_share_billed_cost,
    cast(coalesce(idle_shares.effective_cost, 0) as decimal(38, 12)) as idle_share_effective_cost
from {{ ref('int_cell_parts') }} as parts
left join idle_shares using ({{ cell() }}, billing_currency, training_run_id, cost_component, attribution_rule)
where parts.training_run_id is not null

{{ config(materialized='by_month') }}

with residuals as (
    select
        {{ cell() }}, billing_currency, cost_component as residual_cost_component, reason,
        {{ cell_id() }} || '|' || billing_currency as cell_id,
        {{ cell_id() }} || '|' || billing_currency || '|' || cost_component || '|' || reason as charge_id,
        {{ sums(['billed_cost', 'effective_cost'], 12) }}
    from {{ ref('int_cell_parts') }}
    where reason in ('idle', 'unused_commitment') and {{ in_build_months() }}
    group by all
),

run_parts as (
    select
        training_run_id,
        cost_component,
        attribution_rule,
        {{ cell_id() }} || '|' || billing_currency as cell_id,
        -- ties go by run id: a space sorts before every character of an id, so run-1 comes before run-10
        training_run_id || ' ' || cost_component || ' ' || attribution_rule as part_id,
        {{ to_units('weight', 12) }} as w
    from {{ ref('int_cell_parts') }}
    where training_run_id is not null and weight > 0 and {{ in_build_months() }}
),

parts as (
    select residuals.charge_id, run_parts.part_id, run_parts.w
    from residuals
    inner join run_parts using (cell_id)
),

split as (
    {{ exact_split('residuals', 'parts', ['billed_cost', 'effective_cost'], 12) }}
)

select
    {{ cell_of('residuals') }},
    residuals.billing_currency,
    residuals.residual_cost_component,
    residuals.reason,
    run_parts.training_run_id,
    run_parts.cost_component,
    run_parts.attribution_rule,
    split.billed_cost,
    split.effective_cost
from split
inner join residuals using (charge_id)
inner join run_parts using (cell_id, part_id)

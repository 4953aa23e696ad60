with residuals as (
    select
        {{ cell() }}, billing_currency, cost_component, reason,
        {{ cell_id() }} || '|' || billing_currency as cell_id,
        {{ cell_id() }} || '|' || billing_currency || '|' || cost_component || '|' || reason as charge_id,
        billed_cost,
        effective_cost
    from {{ ref('int_cell_parts') }}
    where reason in ('idle', 'unused_commitment')
),

run_parts as (
    select
        {{ cell() }}, billing_currency, cost_component, training_run_id, attribution_rule,
        {{ cell_id() }} || '|' || billing_currency as cell_id,
        -- ties go by run id: a space sorts before every character of an id, so run-1 comes before run-10
        training_run_id || ' ' || cost_component || ' ' || attribution_rule as part_id,
        {{ to_units('weight', 12) }} as w
    from {{ ref('int_cell_parts') }}
    where training_run_id is not null and weight > 0
),

charges as (
    select residuals.charge_id, residuals.billed_cost, residuals.effective_cost
    from residuals
    where residuals.cell_id in (select run_parts.cell_id from run_parts)
),

parts as (
    select residuals.charge_id, run_parts.part_id, run_parts.w
    from residuals
    inner join run_parts using (cell_id)
),

split as (
    {{ exact_split('charges', 'parts', ['billed_cost', 'effective_cost'], 12) }}
)

select
    {{ cell_of('residuals') }},
    residuals.billing_currency,
    residuals.cost_component as residual_cost_component,
    residuals.reason,
    run_parts.training_run_id,
    run_parts.cost_component,
    run_parts.attribution_rule,
    split.billed_cost,
    split.effective_cost
from split
inner join residuals using (charge_id)
inner join run_parts on residuals.cell_id = run_parts.cell_id and split.part_id = run_parts.part_id

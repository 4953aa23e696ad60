-- the provider's total and what is quarantined are those of the reconciliation, which adds them up without the other steps
with parts as (
    select
        quarter, month_1, month_2, month_3, usage_month, billing_currency, billed_cost, effective_cost,
        case when reason is null then 'Runs on ' || accelerator_family else {{ residual_step() }} end as part
    from {{ ref('bill_parts') }}
    union all
    select
        quarters.quarter, quarters.month_1, quarters.month_2, quarters.month_3, cells.usage_month,
        cells.unit_or_currency as billing_currency,
        case when cells.measure = 'billed_cost' then steps.total else 0 end as billed_cost,
        case when cells.measure = 'effective_cost' then steps.total else 0 end as effective_cost,
        steps.part
    from {{ ref('fct_reconciliation') }} as cells
    {{ of_quarters() }}
    cross join
        lateral (values ('Quarantined', cells.quarantined_total), ('Provider total', cells.provider_total)) as steps (part, total)
    where
        cells.method = 'conservation' and cells.measure in ('billed_cost', 'effective_cost')
        and (steps.part = 'Provider total' or steps.total <> 0)
)

select
    quarter,
    part,
    billing_currency,
    {{ by_period('billed_cost', 'billed_cost') }},
    {{ by_period('effective_cost', 'effective_cost') }},
    part = 'Provider total' as is_total,
    {{ step_position() }} as position
from parts
group by quarter, part, billing_currency

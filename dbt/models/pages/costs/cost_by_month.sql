with parts as (
    select *, case when reason is null then accelerator_family else 'no run' end as part
    from {{ ref('bill_parts') }}
)

select
    quarter,
    usage_month,
    part,
    billing_currency,
    {{ whole('effective_cost') }} as effective_cost,
    {{ whole('billed_cost') }} as billed_cost,
    grouping(part) > 0 as is_total,
    part = 'no run' as is_without_run,
    case when bool_and(bool_and(effective_cost is not null)) over months then sum(sum(effective_cost)) over months end
        as month_effective_cost
from parts
group by grouping sets ((quarter, usage_month, part, billing_currency), (quarter, usage_month, billing_currency))
window months as (partition by quarter, usage_month, billing_currency, grouping(part))

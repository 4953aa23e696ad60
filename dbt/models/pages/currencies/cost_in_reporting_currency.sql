-- where every bill of a quarter is in the reporting currency there is nothing to convert and no row
with costs as (
    select
        quarters.quarter, costs.usage_month, costs.billing_currency, costs.effective_cost,
        costs.reporting_currency_effective_cost, costs.fx_rate_date, rates.rate, rates.source,
        coalesce(
            rates.quote_currency,
            case when costs.reporting_currency_effective_cost is not null then costs.billing_currency end
        ) as reporting_currency
    from {{ ref('fct_training_run_costs') }} as costs
    {{ of_quarters('costs.usage_month') }}
    left join {{ ref('dim_fx_rates') }} as rates
        on
            costs.fx_rate_date = rates.rate_date and costs.billing_currency = rates.base_currency
            and rates.is_to_reporting_currency
    qualify bool_or(
        costs.fx_rate_date is not null
        or (costs.effective_cost is not null and costs.reporting_currency_effective_cost is null)
    ) over (partition by quarters.quarter)
)

select
    quarter,
    billing_currency,
    usage_month,
    case when grouping(usage_month) = 0 then {{ whole('effective_cost') }} end as effective_cost,
    max(reporting_currency) as reporting_currency,
    {{ whole('reporting_currency_effective_cost') }} as reporting_currency_effective_cost,
    case when grouping(usage_month) = 0 then max(rate) end as fx_rate,
    case when grouping(usage_month) = 0 then max(fx_rate_date) end as fx_rate_date,
    case when grouping(usage_month) = 0 then max(source) end as source,
    grouping(usage_month) > 0 as is_total
from costs
group by grouping sets ((quarter, billing_currency, usage_month), (quarter))

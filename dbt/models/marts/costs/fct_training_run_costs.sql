{{ config(materialized='by_month', meta={'rebuilt_for': 'status'}) }}

with costs as (
    select
        training_run_id,
        usage_month,
        billing_currency,
        cost_component,
        attribution_rule,
        {{ sums(['billed_cost', 'effective_cost', 'idle_share_billed_cost', 'idle_share_effective_cost'], 12) }},
        {{ whole_sums(['list_cost', 'contracted_cost'], 12) }}
    from {{ ref('fct_run_cell_costs') }}
    group by all
),

evidence as (
    select
        training_run_id,
        usage_month,
        billing_currency,
        cost_component,
        attribution_rule,
        min(confidence_rank) as confidence_rank,
        {{ whole_sums(['on_demand_list_cost'], 12) }},
        bool_or(is_zero_priced) as is_zero_priced,
        -- rows that are not usage have no list price to cover; without any usage nothing is missing
        case
            when sum(usage_line_count) = 0 then 1.0
            when sum(usage_effective_cost) > 0
                then cast(sum(listed_effective_cost) as double) / cast(sum(usage_effective_cost) as double)
            else cast(sum(listed_line_count) as double) / cast(sum(usage_line_count) as double)
        end as list_cost_coverage_ratio
    from {{ ref('int_cell_parts') }}
    where {{ in_build_months() }} and training_run_id is not null
    group by all
),

-- a run of one month on two providers is final when both bills are
statuses as (
    select training_run_id, usage_month, case when bool_and(cost_status = 'final') then 'final' else 'preliminary' end as status
    from {{ ref('int_run_months') }}
    where is_billed
    group by all
),

run_costs as (
    select
        training_run_id,
        usage_month,
        billing_currency,
        cost_component,
        attribution_rule,
        case evidence.confidence_rank when 1 then 'low' when 2 then 'medium' else 'high' end as attribution_confidence,
        costs.billed_cost,
        -- zero is not a price: of a run's month and component with an hour without a known price the whole is unknown
        case
            when bool_or(evidence.is_zero_priced) over (partition by training_run_id, usage_month, cost_component) then null
            else costs.effective_cost
        end as effective_cost,
        costs.list_cost,
        costs.contracted_cost,
        cast({{ nine_digits('evidence.list_cost_coverage_ratio') }} as double) as list_cost_coverage_ratio,
        costs.idle_share_billed_cost,
        costs.idle_share_effective_cost,
        statuses.status,
        evidence.on_demand_list_cost
    from costs
    inner join evidence using (training_run_id, usage_month, billing_currency, cost_component, attribution_rule)
    inner join statuses using (training_run_id, usage_month)

    union all

    -- chips were held but no bill has a row for it: without this row the month would disappear; its status shows why it is empty
    select
        run_months.training_run_id,
        run_months.usage_month,
        settings.reporting_currency as billing_currency,
        'accelerator' as cost_component,
        'resource_time' as attribution_rule,
        'low' as attribution_confidence,
        cast(0 as decimal(38, 12)) as billed_cost,
        cast(0 as decimal(38, 12)) as effective_cost,
        cast(null as decimal(38, 12)) as list_cost,
        cast(null as decimal(38, 12)) as contracted_cost,
        cast(0 as double) as list_cost_coverage_ratio,
        cast(0 as decimal(38, 12)) as idle_share_billed_cost,
        cast(0 as decimal(38, 12)) as idle_share_effective_cost,
        run_months.cost_status as status,
        cast(null as decimal(38, 12)) as on_demand_list_cost
    from {{ ref('int_run_months') }} as run_months
    cross join {{ source('raw', 'settings') }} as settings
    where not run_months.is_billed
),

-- of the last day of the month, or of one of the seven days before it: a later rate changes no earlier month
month_rates as (
    select
        months.usage_month,
        months.billing_currency,
        rates.rate,
        rates.rate_date
    from (select distinct usage_month, billing_currency from run_costs) as months
    inner join {{ ref('dim_fx_rates') }} as rates
        on
            months.billing_currency = rates.base_currency
            and rates.is_to_reporting_currency
            and rates.quote_currency <> months.billing_currency
            and rates.rate_date < cast(months.usage_month + interval 1 month as date)
            and rates.rate_date >= cast(months.usage_month + interval 1 month - interval 8 day as date)
    qualify row_number() over (
        partition by months.usage_month, months.billing_currency
        order by rates.rate_date desc
    ) = 1
)

select
    run_costs.*,
    -- beside the bill's own currency, never instead of it
    case
        when run_costs.billing_currency = settings.reporting_currency then run_costs.effective_cost
        else {{ converted('run_costs.effective_cost', 'month_rates.rate') }}
    end as reporting_currency_effective_cost,
    month_rates.rate_date as fx_rate_date,
    -- of the rows that list_cost adds up, so that a quotient of two sums is of the same rows
    {{ zero_without_list('run_costs') }} as effective_cost_with_list
from run_costs
cross join {{ source('raw', 'settings') }} as settings
left join month_rates using (usage_month, billing_currency)

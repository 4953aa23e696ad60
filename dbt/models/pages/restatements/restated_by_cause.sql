-- what a cause moved in one issued report: how many numbers and texts, and the headline figures that a line of it names
with numbers as (
    select
        report_id,
        cause,
        count(*) filter (where before is distinct from after) as figure_count,
        max(delta) filter (where datapoint_id like '%/glance/effective_cost') as moved_effective_cost,
        max(delta) filter (where datapoint_id like '%/glance/facility_energy') as moved_facility_energy_kwh,
        max(delta) filter (where datapoint_id like '%/glance/provider_total_location_based') as moved_location_based_kgco2e,
        max(delta) filter (where datapoint_id like '%/glance/provider_total_market_based') as moved_market_based_kgco2e
    from {{ ref('fct_restatements') }}
    group by report_id, cause
),

texts as (
    select
        report_id,
        cause,
        count(*) filter (where before is distinct from after) as text_count
    from {{ ref('fct_restated_texts') }}
    group by report_id, cause
),

-- of the quarter of the report, where its bills are in one currency
currencies as (
    select
        quarter,
        max(unit) as billing_currency
    from {{ ref('rpt_quarterly_figures') }}
    where figure_id = 'effective_cost'
    group by quarter
    having count(*) = 1
)

select
    report_id,
    cause,
    case cause
        when 'code' then 1 when 'bill' then 2 when 'run_record' then 3 when 'late_log' then 4 when 'provider_model_version' then 5
        else 6
    end as step,
    coalesce(numbers.figure_count, 0) as figure_count,
    coalesce(texts.text_count, 0) as text_count,
    currencies.billing_currency,
    numbers.moved_effective_cost,
    numbers.moved_facility_energy_kwh,
    numbers.moved_location_based_kgco2e,
    numbers.moved_market_based_kgco2e
from numbers
full outer join texts using (report_id, cause)
left join currencies on split_part(report_id, '-', 1) = currencies.quarter
where coalesce(numbers.figure_count, 0) + coalesce(texts.text_count, 0) > 0

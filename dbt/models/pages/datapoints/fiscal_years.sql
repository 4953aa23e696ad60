with years as (
    select
        disclosure.fiscal_year,
        make_date(
            cast(disclosure.fiscal_year as int) - case when fiscal_year_start > 1 then 1 else 0 end, fiscal_year_start, 1
        ) as year_start,
        make_date(
            cast(disclosure.fiscal_year as int) + case when fiscal_year_start > 1 then 0 else 1 end, fiscal_year_start, 1
        ) as year_end,
        max(disclosure.report_status) filter (where disclosure.report_status = 'draft') is not null as is_draft
    from {{ ref('rpt_yearly_disclosure') }} as disclosure
    cross join {{ ref('dim_disclosure_settings') }}
    group by all
),

preliminary_months as (
    select usage_month from {{ ref('fct_training_run_costs') }}
    where status = 'preliminary'

    union

    select usage_month from {{ ref('fct_training_run_emissions') }}
    where status = 'preliminary'
)

select
    years.fiscal_year,
    years.year_start,
    years.year_end,
    years.is_draft,
    count(preliminary_months.usage_month) as preliminary_months
from years
left join preliminary_months on usage_month >= year_start and usage_month < year_end
group by all

-- what is stated of a fiscal year, with the quarters that have months of it
with years as (
    select
        inventory.*,
        settings.fiscal_year_start,
        cast(inventory.fiscal_year as int) as ends_in,
        case when settings.fiscal_year_start > 1 then 1 else 0 end as year_before
    from {{ ref('dim_own_inventory') }} as inventory
    cross join {{ ref('dim_disclosure_settings') }} as settings
)

select
    quarters.quarter,
    years.fiscal_year,
    years.figure,
    case
        when years.figure like 'own_scope_3_category_%' then 'Scope 3, category ' || substr(years.figure, 22)
        when years.figure = 'own_scope_1' then 'Scope 1'
        when years.figure = 'own_scope_2_location_based' then 'Scope 2, location-based'
        when years.figure = 'own_scope_2_market_based' then 'Scope 2, market-based'
        when years.figure = 'own_cloud_location_based' then 'Cloud before the first bill, location-based'
        when years.figure = 'own_cloud_market_based' then 'Cloud before the first bill, market-based'
        when years.figure = 'own_revenue' then 'Revenue'
        when years.figure = 'own_headcount' then 'Employees'
    end as figure_name,
    years.value,
    years.unit,
    years.source,
    years.source_date,
    years.source_object
from years
inner join {{ ref('report_quarters') }} as quarters
    on
        quarters.quarter_start < make_date(years.ends_in + 1 - years.year_before, years.fiscal_year_start, 1)
        and quarters.quarter_end > make_date(years.ends_in - years.year_before, years.fiscal_year_start, 1)

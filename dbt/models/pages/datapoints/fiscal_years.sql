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

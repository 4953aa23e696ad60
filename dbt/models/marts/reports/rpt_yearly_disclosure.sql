with in_force as (
    select distinct figures.period, datapoints.framework
    from {{ ref('int_disclosure_figures') }} as figures
    cross join {{ ref('dim_datapoints') }} as datapoints
    where
        figures.grain = 'year'
        and cast(figures.period as int) >= coalesce(datapoints.first_fiscal_year, 0)
        and cast(figures.period as int) <= coalesce(datapoints.last_fiscal_year, 9999)
),

years as (
    select distinct period, report_status
    from {{ ref('int_disclosure_figures') }}
    where grain = 'year'
),

taken as (
    {{ disclosed('fiscal_year', 'year', ref('dim_datapoints'), ref('int_disclosure_figures')) }}
),

-- what no figure of the ledger can be is on the list too, with its reason
left_open as (
    select
        years.period as fiscal_year,
        datapoints.framework,
        datapoints.datapoint_id,
        datapoints.datapoint,
        cast(null as decimal(38, 12)) as value,
        datapoints.unit,
        datapoints.method,
        years.report_status,
        datapoints.not_available_reason,
        datapoints.id_kind,
        datapoints.edition,
        datapoints.xbrl_element,
        datapoints.expected_reference,
        datapoints.read_on,
        true as is_filed
    from {{ ref('dim_datapoints') }} as datapoints
    cross join years
    where datapoints.measure is null
),

listed as (
    select * from taken

    union all

    select * from left_open
)

select listed.*
from listed
inner join in_force on listed.fiscal_year = in_force.period and listed.framework = in_force.framework

-- Column names are those of the tool, in its spelling.
-- noqa: disable=CP02,RF05,RF06
select
    electricity,
    supplier || ' ' || coalesce(account_name, account_id) || ' ' || region_id || ' '
    || substr(cast(period_start as string), 1, 7) || ', ' || electricity || '-based' as "Name",
    activity_id || '|' || electricity as "Origin correlation ID",
    period_start as "Consumption start date",
    period_end as "Consumption end date",
    supplier_tco2e as "CO2E",
    'mt' as "CO2E unit",
    cast(null as string) as "Organizational unit",
    cast(null as string) as "Data quality type",
    'Scope 3, category 1: ' || emissions_data_quality || ', ' || source as "Description"
from {{ ref('activity_tonnes') }}

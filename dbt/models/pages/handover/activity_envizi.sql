-- Column names are those of the tool, in its spelling and order.
-- noqa: disable=CP02,RF05,RF06
select
    electricity,
    cast(null as string) as "Organization Link",
    cast(null as string) as "Organization",
    supplier || case when region_id <> '' then ' ' || region_id else '' end as "Location",
    cast(null as string) as "Location Ref",
    cast(null as string) as "Account Style Link",
    cast(null as string) as "Account Style Caption",
    cast(null as string) as "Account Subtype",
    supplier || '|' || account_id || '|' || region_id as "Account Number",
    account_name as "Account Reference",
    supplier as "Account Supplier",
    cast(null as string) as "Account Reader",
    period_start as "Record Start YYYY-MM-DD",
    period_end as "Record End YYYY-MM-DD",
    cast(null as string) as "Record Data Quality",
    cast(null as string) as "Record Billing Type",
    cast(null as string) as "Record Subtype",
    cast(null as string) as "Record Entry Method",
    activity_id || '|' || electricity as "Record Reference",
    cast(null as string) as "Record Invoice Number",
    supplier_tco2e as "Quantity",
    cast(null as decimal(38, 12)) as "Total Cost"
from {{ ref('activity_tonnes') }}

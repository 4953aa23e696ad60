-- Column names are those of the tool, in its spelling.
-- noqa: disable=CP02,RF05,RF06
select
    electricity,
    activity_id || '|' || electricity as "INTERFACE_ACTIVITY_KEY",
    supplier || ' ' || coalesce(account_name, account_id) || ' ' || region_id as "DESCRIPTION",
    emissions_data_quality || ', ' || source as "COMMENTS",
    'Scope 3' as "SCOPE",
    'Purchased goods and services' as "SCOPE_CATEGORY",
    activity_id as "EXTERNAL_REF_NUM",
    period_end as "ACTIVITY_DATE",
    period_start as "CONSUMPTION_START_DATE",
    period_end as "CONSUMPTION_END_DATE",
    cast(null as string) as "DATA_QUALITY",
    cast(null as string) as "LEGAL_ENTITY",
    supplier as "SUPPLIER_NAME",
    country_code as "COUNTRY_CODE",
    'CO2e' as "EMISSION_TYPE",
    supplier_tco2e as "EMISSION_QTY",
    'Metric ton' as "EMISSION_UOM"
from {{ ref('activity_tonnes') }}

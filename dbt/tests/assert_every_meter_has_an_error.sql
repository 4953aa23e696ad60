-- Readings of a meter without a row in the seed meters would have no bounds.
{{ config(meta={'dagster': {'ref': {'name': 'int_metered_power'}}}) }}
select distinct usage_month, meter
from {{ ref('int_metered_power') }}
where
    {{ of_built_months() }}
    and (power_uw is not null and power_low_uw is null or driver_ppm is not null and driver_low_ppm is null)

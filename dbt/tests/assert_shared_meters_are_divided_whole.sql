-- readings of a shared meter whose parts are not the whole: nothing that a rack drew is lost or made
{{ config(meta={'dagster': {'ref': {'name': 'int_shared_meter_readings'}}}) }}
select usage_month, meter, read_by, sample_from_us, max(meter_uw) as meter_uw, sum(power_uw) as divided_uw
from {{ ref('int_shared_meter_readings') }}
where {{ in_build_months() }}
group by all
having sum(power_uw) <> max(meter_uw) or min(power_uw) < 0

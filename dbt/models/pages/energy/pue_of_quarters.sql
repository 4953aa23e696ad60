select
    quarter,
    provider_name,
    region_id,
    pue_ratio,
    pue_source,
    count(*) as run_months,
    {{ whole('facility_energy_kwh') }} as facility_energy_kwh
from {{ ref('energy_run_months') }}
{{ of_quarters() }}
where holds_chips
group by all

select
    quarter,
    accelerator_type,
    accelerator_family,
    {{ run_month_counts() }},
    {{ energy_sums(
        ['chip_energy_kwh', 'chip_host_energy_kwh', 'it_energy_kwh', 'facility_energy_kwh'], ['idle_share_facility_energy_kwh']
    ) }},
    grouping(accelerator_type) > 0 as is_total
from {{ ref('energy_run_months') }}
{{ of_quarters() }}
group by grouping sets ((quarter, accelerator_type, accelerator_family), (quarter))

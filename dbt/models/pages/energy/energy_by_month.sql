select
    quarter,
    usage_month,
    accelerator_family,
    {{ run_month_counts() }},
    {{ energy_sums(['facility_energy_kwh']) }},
    grouping(accelerator_family) > 0 as is_total
from {{ ref('energy_run_months') }}
{{ of_quarters() }}
group by grouping sets ((quarter, usage_month, accelerator_family), (quarter, usage_month))

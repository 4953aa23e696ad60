select
    accelerator_type,
    sdk_version,
    source_kind,
    usage_month as valid_from_month,
    window_count,
    host_count,
    run_count,
    workload_count,
    {{ hours('cast(metered_us * 1000000 as decimal(38, 0))') }} as chip_hours,
    cast(unmetered_share as double) as unmetered_share
    {%- for name in ['idle', 'mean', 'busy', 'spread'] %},
    cast({{ name }}_uw as double) / 1e6 as {{ name }}_w
    {%- endfor %},
    coverage_promised,
    refused_reason,
    {{ timestamp_of('first_us') }} as first_measured_at,
    {{ timestamp_of('last_us') }} as last_measured_at
from {{ ref('int_power_calibrations') }}

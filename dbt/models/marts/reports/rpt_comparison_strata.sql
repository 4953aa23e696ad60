select
    window_start,
    window_end,
    workload_key,
    kpi,
    factor_view,
    trainium_accelerator_type,
    trainium_region_id,
    tpu_accelerator_type,
    tpu_region_id,
    pair_count,
    {{ significant('exp(cast(mean_log_ratio as double))') }} as geometric_mean_ratio
from {{ ref('int_comparison_strata') }}

{%- set stratum = 'trainium_accelerator_type, trainium_region_id, tpu_accelerator_type, tpu_region_id' %}

select
    window_start,
    window_end,
    workload_key,
    kpi,
    factor_view,
    {{ stratum }},
    count(*) as pair_count,
    {{ mean_log('log_ratio') }} as mean_log_ratio
from {{ ref('int_comparison_window_pairs') }}
where setting = '' and log_ratio is not null and use <> 'not_comparable'
group by window_start, window_end, workload_key, kpi, factor_view, {{ stratum }}

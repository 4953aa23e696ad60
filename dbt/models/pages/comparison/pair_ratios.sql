select
    window_start,
    window_end,
    workload_key,
    {{ kpi_in_words() }} as measure,
    {{ kpi_position() }} as position,
    pair_key,
    unit,
    trainium_run_count,
    trainium_value,
    trainium_value_low,
    trainium_value_high,
    tpu_run_count,
    tpu_value,
    tpu_value_low,
    tpu_value_high,
    ratio,
    ratio_corner_low,
    ratio_corner_high,
    count(distinct pair_key) over (partition by window_start, window_end, workload_key) as workload_pair_count
from {{ ref('rpt_comparison_pairs') }}
where factor_view = 'chip' and setting = '' and ratio is not null

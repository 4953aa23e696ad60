select
    window_start,
    window_end,
    span,
    workload_key,
    kpi,
    {{ kpi_in_words() }} as measure,
    {{ kpi_position() }} as position,
    factor_view,
    pair_count,
    trainium_median,
    tpu_median,
    geometric_mean_ratio,
    ratio_low,
    ratio_high,
    ratio_corner_low,
    ratio_corner_high,
    verdict,
    reason,
    pairs_needed,
    kpi in {{ primary_kpis() }} and row_number() over (
        partition by window_start, window_end, workload_key, kpi in {{ primary_kpis() }}
        order by verdict = 'not_comparable', pair_count desc, kpi desc
    ) = 1 as is_promised
from {{ ref('rpt_trainium_vs_tpu') }}
inner join {{ ref('comparison_windows') }} using (window_start, window_end)
where span = 'quarter' or pair_count > 0

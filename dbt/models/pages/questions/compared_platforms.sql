-- of the windows that end last, the one that begins first
select
    window_start, window_end, workload_key, kpi, factor_view, pair_count, geometric_mean_ratio,
    ratio_low as geometric_mean_ratio_low, ratio_high as geometric_mean_ratio_high,
    verdict, verdict_reason, reason, pairs_needed, 'verdict: ' || verdict as rests_on, reason as no_ratio
from {{ ref('rpt_trainium_vs_tpu') }}
qualify
    window_end = max(window_end) over ()
    and window_start = min(window_start) over (partition by window_end)

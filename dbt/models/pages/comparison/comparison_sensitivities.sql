select
    window_start,
    window_end,
    workload_key,
    {{ kpi_in_words() }} as measure,
    {{ kpi_position() }} as position,
    setting,
    pair_count,
    stated_ratio,
    geometric_mean_ratio,
    verdict,
    is_ranking_kept
from {{ ref('rpt_comparison_sensitivities') }}

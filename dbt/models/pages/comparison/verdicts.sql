-- of a workload the one figure that its runs promised: in the quarter, and in the four to its end where there are pairs
with every as (
    select *, {{ span_of_window() }} as span, {{ kpi_in_words() }} as measure
    from {{ ref('rpt_trainium_vs_tpu') }}
)

select
    window_start, window_end, span, workload_key, measure, pair_count, trainium_median, tpu_median, geometric_mean_ratio,
    ratio_low, ratio_high, verdict, reason, pairs_needed
from every
where kpi in {{ primary_kpis() }} and (span = 'quarter' or pair_count > 0)
qualify row_number() over (
    partition by workload_key, window_start, window_end order by verdict = 'not_comparable', pair_count desc, kpi desc
) = 1

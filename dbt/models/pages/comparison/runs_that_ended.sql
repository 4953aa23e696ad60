select
    windows.window_start,
    windows.window_end,
    count(*) filter (where runs.ended_at >= windows.window_start and runs.ended_at < windows.window_end) as run_count,
    min(runs.ended_at) as first_end,
    max(runs.ended_at) as last_end
from {{ ref('int_report_windows') }} as windows
left join {{ ref('dim_training_runs') }} as runs on true
group by windows.window_start, windows.window_end

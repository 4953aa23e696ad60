-- two windows end together: the quarter and the four quarters; of dates that somebody asks for there is one
select
    window_start,
    window_end,
    case when window_start = max(window_start) over (partition by window_end) then 'quarter' else 'four quarters' end as span
from {{ ref('int_report_windows') }}

select windows.window_start, windows.window_end, watts.*
from {{ ref('fct_power_calibration') }} as watts
inner join {{ ref('int_report_windows') }} as windows
    on watts.valid_from_month >= windows.window_start and watts.valid_from_month < windows.window_end
qualify watts.valid_from_month = max(watts.valid_from_month) over (
    partition by windows.window_start, windows.window_end, watts.accelerator_type, watts.sdk_version, watts.source_kind
)

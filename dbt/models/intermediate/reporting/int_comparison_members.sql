-- a pair counts in the window in which its last run ended, with the replicates that there were by its end
with members as (
    select
        windows.window_start,
        windows.window_end,
        runs.training_run_id,
        runs.workload_key,
        runs.pair_key,
        runs.accelerator_family,
        runs.accelerator_type,
        runs.region_id,
        runs.ended_at >= cast(windows.window_start as timestamp) as is_in_window,
        max(runs.ended_at) over (partition by windows.window_start, windows.window_end, runs.workload_key, runs.pair_key)
        >= cast(windows.window_start as timestamp) as is_pair_in_window
    from {{ ref('int_report_windows') }} as windows
    cross join {{ ref('int_compared_runs') }} as runs
    where runs.ended_at < cast(windows.window_end as timestamp)
)

select
    window_start,
    window_end,
    training_run_id,
    workload_key,
    pair_key,
    accelerator_family,
    accelerator_type,
    region_id,
    is_in_window,
    pair_key is not null and is_pair_in_window as is_in_pair
from members
where is_in_window or (pair_key is not null and is_pair_in_window)

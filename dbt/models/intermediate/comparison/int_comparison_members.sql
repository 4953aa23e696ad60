-- which runs a window is about: those that reached and ended in it, and all launches of a pair that counts in it
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
        runs.is_reached
        and runs.ended_at >= cast(windows.window_start as timestamp)
        and runs.ended_at < cast(windows.window_end as timestamp) as is_in_window,
        coalesce(
            pairs.settled_at >= cast(windows.window_start as timestamp)
            and pairs.settled_at < cast(windows.window_end as timestamp), false
        ) as is_in_pair
    from {{ ref('int_report_windows') }} as windows
    cross join {{ ref('int_compared_runs') }} as runs
    left join {{ ref('int_comparison_promises') }} as pairs
        on runs.workload_key = pairs.workload_key and runs.pair_key = pairs.pair_key
)

select * from members
where is_in_window or is_in_pair

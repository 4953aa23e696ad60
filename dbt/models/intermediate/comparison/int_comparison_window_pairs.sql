-- a pair counts in the window in which its second side first reached the target or ended
with pairs as (
    select
        windows.window_start,
        windows.window_end,
        pairs.*
    from {{ ref('int_report_windows') }} as windows
    inner join {{ ref('int_comparison_pairs') }} as pairs
        on
            pairs.settled_at >= cast(windows.window_start as timestamp)
            and pairs.settled_at < cast(windows.window_end as timestamp)
)

/* pairs */
select * from pairs
/* end of pairs */

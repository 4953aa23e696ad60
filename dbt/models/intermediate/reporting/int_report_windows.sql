with quarters as (
    select cast(date_trunc('quarter', ended_at) as date) as quarter_start from {{ ref('dim_training_runs') }}
    where ended_at is not null

    union

    select cast(date_trunc('quarter', usage_month) as date) as quarter_start from {{ ref('fct_training_run_costs') }}
),

windows as (
    /* windows */
    select quarter_start as window_start, cast(quarter_start + interval 3 month as date) as window_end from quarters

    union

    select
        cast(quarter_start - interval 9 month as date) as window_start,
        cast(quarter_start + interval 3 month as date) as window_end
    from quarters
    /* end of windows */
)

select window_start, window_end from windows

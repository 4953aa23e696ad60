with quarter_starts as (
    /* quarters */
    select cast(date_trunc('quarter', usage_month) as date) as quarter_start from {{ ref('fct_training_run_costs') }}
    union
    select cast(date_trunc('quarter', usage_month) as date) as quarter_start from {{ ref('fct_residual_costs') }}
    union
    select cast(date_trunc('quarter', usage_month) as date) as quarter_start from {{ ref('fct_reconciliation') }}
    where method = 'conservation'
    /* end of quarters */
)

select
    year(quarter_start) || 'Q' || quarter(quarter_start) as quarter,
    quarter_start,
    cast(quarter_start + interval 3 month as date) as quarter_end,
    cast(quarter_start - interval 3 month as date) as prior_start,
    quarter_start as month_1,
    cast(quarter_start + interval 1 month as date) as month_2,
    cast(quarter_start + interval 2 month as date) as month_3
from quarter_starts

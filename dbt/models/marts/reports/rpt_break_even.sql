select
    workload_key,
    from_family,
    to_family,
    unit as billing_currency,
    saving as saving_per_run,
    saving_low,
    saving_high,
    cast(one_time_amount as decimal(38, 12)) as one_time_cost,
    runs as break_even_runs,
    runs_low as break_even_runs_low,
    runs_high as break_even_runs_high,
    reason
from {{ ref('int_break_even') }}
where measure = 'cost'

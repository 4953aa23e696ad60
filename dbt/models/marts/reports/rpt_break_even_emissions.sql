select
    workload_key,
    from_family,
    to_family,
    saving as saving_per_run_kgco2e,
    saving_low as saving_low_kgco2e,
    saving_high as saving_high_kgco2e,
    cast(one_time_amount as decimal(38, 9)) as one_time_kgco2e,
    runs as break_even_runs,
    runs_low as break_even_runs_low,
    runs_high as break_even_runs_high,
    reason
from {{ ref('int_break_even') }}
where measure = 'emissions'

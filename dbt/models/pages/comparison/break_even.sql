-- by the newest verdict, so in the report of its window alone; of a workload that is not decided the reason, once
with newest as (
    select workload_key, max(window_end) as window_end
    from {{ ref('rpt_trainium_vs_tpu') }}
    where kpi in {{ primary_kpis() }} and factor_view = 'chip' and pair_count > 0
    group by workload_key
)

select
    newest.window_end,
    break_even.workload_key,
    break_even.from_family,
    break_even.to_family,
    break_even.billing_currency,
    break_even.saving_per_run,
    break_even.saving_low,
    break_even.saving_high,
    break_even.one_time_cost,
    break_even.break_even_runs,
    break_even.break_even_runs_low,
    break_even.break_even_runs_high,
    break_even.reason
from {{ ref('rpt_break_even') }} as break_even
inner join newest using (workload_key)
where break_even.saving_per_run > 0 or (break_even.saving_per_run is null and break_even.from_family = 'trainium')

-- two windows end together, the quarter and the four quarters; of dates that somebody asks for there is one
with windows as (
    select
        window_start,
        window_end,
        case when window_start = max(window_start) over (partition by window_end) then 'quarter' else 'four quarters' end as span
    from {{ ref('int_report_windows') }}
),

verdicts as (
    select verdicts.*, windows.span
    from {{ ref('rpt_trainium_vs_tpu') }} as verdicts
    inner join windows using (window_start, window_end)
),

-- the currency of medians of cost, which are none where runs of a window were billed in two
currencies as (
    select runs.workload_key, min(costs.billing_currency) as currency
    from {{ ref('dim_training_runs') }} as runs
    inner join {{ ref('fct_training_run_costs') }} as costs using (training_run_id)
    group by runs.workload_key
    having min(costs.billing_currency) = max(costs.billing_currency)
)

select
    window_start,
    window_end,
    span,
    workload_key,
    kpi,
    {{ kpi_in_words() }} as measure,
    {{ kpi_position() }} as position,
    factor_view,
    pair_count,
    case
        when kpi like 'cost%' then currencies.currency
        when kpi like 'energy%' then 'kWh'
        when kpi like '%gco2e%' then 'gCO2e'
        else 'ratio'
    end as unit,
    trainium_median,
    tpu_median,
    geometric_mean_ratio,
    ratio_low,
    ratio_high,
    ratio_corner_low,
    ratio_corner_high,
    verdict,
    reason,
    pairs_needed,
    -- of a workload the one figure that its runs promised
    kpi in {{ primary_kpis() }} and row_number() over (
        partition by window_start, window_end, workload_key, kpi in {{ primary_kpis() }}
        order by verdict = 'not_comparable', pair_count desc, kpi desc
    ) = 1 as is_promised
from verdicts
left join currencies using (workload_key)
where span = 'quarter' or pair_count > 0

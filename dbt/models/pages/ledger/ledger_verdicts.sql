-- of the four quarters to the newest end; cost_per_run is of the two primary figures the one that the workload's runs promised
with figures as (
    select *, case when kpi in {{ primary_kpis() }} then 'cost_per_run' else kpi end as figure
    from {{ ref('rpt_trainium_vs_tpu') }}
    where
        window_end = (select max(every.window_end) from {{ ref('rpt_trainium_vs_tpu') }} as every)
        and window_start = cast(window_end - interval 1 year as date)
        and factor_view = 'chip'
        and (
            kpi in {{ primary_kpis() }}
            or kpi in ('energy_kwh_per_million_tokens', 'location_based_gco2e_per_million_tokens')
        )
    qualify row_number() over (
        partition by workload_key, figure order by verdict = 'not_comparable', pair_count desc, kpi desc
    ) = 1
)

select
    workload_key, figure as kpi, verdict, geometric_mean_ratio, ratio_low, ratio_high, pair_count, reason,
    window_start, window_end
from figures

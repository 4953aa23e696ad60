-- each setting beside the KPI itself, over the pairs that have both
with settings as (
    select
        varied.window_start,
        varied.window_end,
        varied.workload_key,
        varied.kpi,
        varied.setting,
        count(*) as pair_count,
        {{ mean_log('varied.log_ratio') }} as mean_log_ratio,
        {{ mean_log('stated.log_ratio') }} as stated_mean_log_ratio
    from {{ ref('int_comparison_window_pairs') }} as varied
    inner join {{ ref('int_comparison_window_pairs') }} as stated
        on
            varied.window_start = stated.window_start and varied.window_end = stated.window_end
            and varied.workload_key = stated.workload_key and varied.pair_key = stated.pair_key
            and varied.kpi = stated.kpi and varied.factor_view = stated.factor_view
    where
        varied.setting <> '' and stated.setting = '' and varied.use <> 'not_comparable'
        and varied.log_ratio is not null and stated.log_ratio is not null
    group by varied.window_start, varied.window_end, varied.workload_key, varied.kpi, varied.setting
)

select
    window_start,
    window_end,
    workload_key,
    kpi,
    setting,
    pair_count,
    {{ significant('exp(cast(mean_log_ratio as double))') }} as geometric_mean_ratio,
    {{ significant('exp(cast(stated_mean_log_ratio as double))') }} as stated_ratio,
    coalesce(sign(mean_log_ratio) = sign(stated_mean_log_ratio), false) as is_ranking_kept
from settings

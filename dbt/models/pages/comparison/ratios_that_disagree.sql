select
    window_start,
    window_end,
    workload_key,
    allocated.pair_count as allocated_pairs,
    modelled.pair_count as modelled_pairs,
    allocated.geometric_mean_ratio as allocated_ratio,
    modelled.geometric_mean_ratio as modelled_ratio
from {{ ref('rpt_comparison_sensitivities') }} as allocated
inner join {{ ref('rpt_comparison_sensitivities') }} as modelled using (window_start, window_end, workload_key, kpi)
where
    allocated.setting = 'factors: allocated by the provider' and modelled.setting = 'factors: each its own region'
    and (allocated.geometric_mean_ratio < 1) <> (modelled.geometric_mean_ratio < 1)

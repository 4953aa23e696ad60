-- the pairs of a workload that have a cost on both sides, registered or not: what their spread shows of later ones. A pair is in
-- several windows, and its newest figure counts; where no cluster is known yet its pairs are
with pairs as (
    select pair_key, max_by(cluster_start, window_end) as cluster_start, ln(max_by(ratio, window_end)) as log_ratio
    from marts.rpt_comparison_pairs
    where
        workload_key = {workload}
        and kpi in ('cost_per_run_to_target', 'cost_per_run_of_fixed_work')
        and factor_view = 'chip'
        and setting = ''
        and ratio > 0
    group by pair_key
),

clusters as (
    select cluster_start, count(*) as pair_count, avg(log_ratio) as log_ratio
    from pairs
    where cluster_start is not null
    group by cluster_start
),

spreads as (
    select
        (select count(*) from pairs) as pair_count,
        (select count(*) from clusters) as cluster_count,
        (select avg(pair_count) from clusters) as pairs_per_cluster,
        (select stddev_samp(log_ratio) from clusters) as spread_of_clusters,
        (select stddev_samp(log_ratio) from pairs) as spread_of_pairs
),

-- three clusters show how far clusters lie apart; fewer show only how far pairs do, and not what the pairs of a time have in common
pilots as (
    select
        pair_count,
        cluster_count,
        greatest(coalesce(pairs_per_cluster, 1), 1) as pairs_per_cluster,
        cluster_count >= 3 as is_of_clusters,
        case
            when cluster_count >= 3 then spread_of_clusters
            when pair_count >= 3 then spread_of_pairs / sqrt(greatest(coalesce(pairs_per_cluster, 1), 1))
        end as spread
    from spreads
),

effects as (
    select *, case when spread > 0 then ln(1 + {detect}) / spread when spread = 0 then 4 end as effect_over_spread
    from pilots
)

select
    effects.*,
    (
        select max_by(clusters_needed, effect_over_spread)
        from marts.dim_comparison_plan_power as needed
        where needed.power = {power} and needed.effect_over_spread <= effects.effect_over_spread
    ) as clusters_needed
from effects

-- the pairs of a workload that have a cost on both sides, registered or not: their spread is what is known of later ones. A pair
-- is in several windows, and its newest figure counts
with pairs as (
    select
        pair_key,
        max_by(cluster_start, window_end) as cluster_start,
        ln(max_by(ratio, window_end)) as log_ratio,
        bool_or(registered_by <> 'none') as is_registered
    from marts.rpt_comparison_pairs
    where
        workload_key = $workload
        and kpi in ('cost_per_run_to_target', 'cost_per_run_of_fixed_work')
        and factor_view = 'chip'
        and setting = ''
        and ratio > 0
    group by pair_key
),

clusters as (
    select
        cluster_start,
        count(*) as pair_count,
        avg(log_ratio) as log_ratio,
        bool_or(is_registered) and cluster_start < $this_cluster as counts_already
    from pairs
    where cluster_start is not null
    group by cluster_start
),

spreads as (
    select
        (select count(*) from pairs) as pair_count,
        (select count(*) from clusters) as cluster_count,
        (select count(*) from clusters where counts_already) as counting_clusters,
        greatest(coalesce((select avg(pair_count) from clusters), 1), 1) as pairs_per_cluster,
        (select stddev_samp(log_ratio) from clusters) as spread_of_clusters,
        (select stddev_samp(log_ratio) from pairs) as spread_of_pairs
),

-- three clusters show how far clusters lie apart; fewer only how far pairs do, without what pairs of one time have in common
pilots as (
    select
        *,
        case
            when cluster_count >= 3 then spread_of_clusters
            when pair_count >= 3 then spread_of_pairs / sqrt(pairs_per_cluster)
        end as spread
    from spreads
),

effects as (
    select *, ln(1 + $detect) / nullif(spread, 0) as effect
    from pilots
),

needed as (
    select
        effects.*,
        (
            select max_by(seed.clusters_needed, seed.effect_over_spread)
            from marts.dim_comparison_plan_power as seed
            where seed.power = $power and seed.effect_over_spread <= coalesce(effects.effect, 99) and effects.spread is not null
        ) as clusters_needed,
        (
            select min(seed.effect_over_spread)
            from marts.dim_comparison_plan_power as seed
            where seed.power = $power and seed.clusters_needed is not null
        ) as least_effect
    from effects
)

select
    pair_count,
    cluster_count,
    counting_clusters,
    round(pairs_per_cluster, 9) as pairs_per_cluster,
    round(spread, 9) as spread,
    clusters_needed,
    cast(ceil(clusters_needed * pairs_per_cluster) as bigint) as pairs_needed,
    round(exp(least_effect * spread) - 1, 9) as least_difference,
    -- of energy no number of pairs helps where power binds: of which types a meter would
    (
        select string_agg(distinct trainium_accelerator_type || ' / ' || tpu_accelerator_type, ', ')
        from marts.rpt_comparison_pairs
        where workload_key = $workload and kpi = 'energy_kwh_per_million_tokens' and factor_view = 'chip' and setting = '' and (
            select arg_max(verdict_reason, (window_end, window_start))
            from marts.rpt_trainium_vs_tpu
            where workload_key = $workload and kpi = 'energy_kwh_per_million_tokens' and factor_view = 'chip'
        ) in ('power', 'assumed_power')
    ) as types_to_meter
from needed

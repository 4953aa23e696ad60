{%- set compared = 'workload_key, kpi, factor_view, basis_class' %}
{%- set types = {
    'trainium_cost': 'decimal(38, 12)', 'tpu_cost': 'decimal(38, 12)', 'trainium_reached': 'bigint', 'tpu_reached': 'bigint'
} %}
{%- set amounts = types.keys() %}

-- the ends of quarters: those of the report, and those at which something closed
with looks as (
    select window_end as quarter_end from {{ ref('int_report_windows') }}
    union
    select closed_on as quarter_end from {{ ref('int_comparison_clusters') }}
    where closed_on is not null
),

closed as (
    select
        looks.quarter_end,
        clusters.*
    from looks
    inner join {{ ref('int_comparison_clusters') }} as clusters on looks.quarter_end >= clusters.closed_on
    where clusters.log_value is not null
),

waiting as (
    {{ half_quarters_that_wait() }}
),

lacking as (
    select
        pairs.workload_key,
        pairs.kpi,
        pairs.factor_view,
        pairs.cluster_start,
        pairs.closed_on,
        pairs.pair_key,
        pairs.missing_side,
        {%- for family in ['trainium', 'tpu'] %}
        case
            when {{ figure_family('pairs.kpi') }} = 'primary' then pairs.{{ family }}_total else pairs.{{ family }}_value
        end as {{ family }}_amount,
        case
            when {{ figure_family('pairs.kpi') }} = 'primary' then coalesce(pairs.{{ family }}_reached, 0) else 1
        end as {{ family }}_reached{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ ref('int_comparison_pairs') }} as pairs
    left join waiting on pairs.workload_key = waiting.workload_key and pairs.cluster_start = waiting.cluster_start
    where
        waiting.workload_key is null and pairs.is_registered and pairs.promise in ('to_target', 'fixed_work')
        and pairs.missing_side is not null and pairs.setting = '' and pairs.factor_view = 'chip'
),

-- the figures of the pairs that decide: what a missing one may have been
peers as (
    select
        looks.quarter_end,
        pairs.workload_key,
        pairs.kpi,
        pairs.factor_view,
        pairs.basis_class,
        count(*) as pair_count,
        count(distinct pairs.cluster_start) as cluster_count,
        min(pairs.trainium_figure) as trainium_least,
        max(pairs.trainium_figure) as trainium_most,
        min(pairs.tpu_figure) as tpu_least,
        max(pairs.tpu_figure) as tpu_most
    from looks
    inner join {{ ref('int_comparison_settled_pairs') }} as pairs on looks.quarter_end >= pairs.closed_on
    group by looks.quarter_end, pairs.workload_key, pairs.kpi, pairs.factor_view, pairs.basis_class
),

-- a pair without a figure counts where the cluster over its half quarter does: a joined one is over all of its
-- span, one without a value over all that follow; a half quarter under none is a cluster of its own
counted as (
    select
        peers.*,
        lacking.pair_key,
        lacking.missing_side,
        lacking.trainium_amount,
        lacking.tpu_amount,
        lacking.trainium_reached,
        lacking.tpu_reached,
        coalesce(clusters.cluster_start, lacking.cluster_start) as in_cluster
    from peers
    inner join lacking
        on
            peers.workload_key = lacking.workload_key and peers.kpi = lacking.kpi and peers.factor_view = lacking.factor_view
            and peers.quarter_end >= lacking.closed_on
    left join {{ ref('int_comparison_clusters') }} as clusters
        on
            peers.workload_key = clusters.workload_key and peers.kpi = clusters.kpi and peers.factor_view = clusters.factor_view
            and peers.basis_class = clusters.basis_class and clusters.stratum_kind = ''
            and lacking.cluster_start >= clusters.cluster_start
            and (lacking.cluster_start < clusters.cluster_end or clusters.log_value is null)
    where
        peers.cluster_count >= 6
        and (clusters.workload_key is null or (clusters.log_value is not null and peers.quarter_end >= clusters.closed_on))
),

-- more than a tenth
short_of_figures as (
    select * from counted
    qualify
        10 * count(*) over (partition by quarter_end, {{ compared }}) > count(*) over (partition by quarter_end, {{ compared }})
        + pair_count
),

supposed as (
    {%- for series, trainium, tpu in [('highest', 'trainium_least', 'tpu_most'), ('lowest', 'trainium_most', 'tpu_least')] %}
    select
        '{{ series }}' as series,
        quarter_end, {{ compared }},
        in_cluster,
        case when missing_side = 'trainium' then {{ trainium }} else cast(trainium_amount as double) end as trainium_amount,
        case when missing_side = 'tpu' then {{ tpu }} else cast(tpu_amount as double) end as tpu_amount,
        case when missing_side = 'trainium' then 1 else trainium_reached end as trainium_reached,
        case when missing_side = 'tpu' then 1 else tpu_reached end as tpu_reached
    from short_of_figures
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

variants as (
    select distinct series, quarter_end, {{ compared }} from supposed
),

members as (
    select
        series, quarter_end, {{ compared }}, in_cluster,
        cast(trainium_amount as decimal(38, 12)) as trainium_cost,
        cast(tpu_amount as decimal(38, 12)) as tpu_cost,
        cast(trainium_reached as bigint) as trainium_reached,
        cast(tpu_reached as bigint) as tpu_reached,
        1 as pair_count,
        case
            when {{ figure_family('kpi') }} <> 'primary'
                then cast({{ exact_log('tpu_amount') }} - {{ exact_log('trainium_amount') }} as decimal(30, 12))
        end as log_sum
    from supposed
    union all
    select
        variants.series, closed.quarter_end, closed.workload_key, closed.kpi, closed.factor_view, closed.basis_class,
        closed.cluster_start as in_cluster,
        cast(closed.trainium_cost as decimal(38, 12)) as trainium_cost,
        cast(closed.tpu_cost as decimal(38, 12)) as tpu_cost,
        cast(closed.trainium_reached as bigint) as trainium_reached,
        cast(closed.tpu_reached as bigint) as tpu_reached,
        closed.pair_count,
        cast(closed.log_value * cast(closed.pair_count as decimal(9, 0)) as decimal(30, 12)) as log_sum
    from closed
    inner join variants
        on
            closed.quarter_end = variants.quarter_end and closed.workload_key = variants.workload_key
            and closed.kpi = variants.kpi and closed.factor_view = variants.factor_view
            and closed.basis_class = variants.basis_class
    where closed.stratum_kind = ''
),

at_extremes as (
    select
        series, quarter_end, {{ compared }}, in_cluster,
        sum(pair_count) as pair_count,
        {%- for amount in amounts %}
        sum({{ amount }}) as {{ amount }},
        {%- endfor %}
        case
            when {{ figure_family('kpi') }} <> 'primary'
                then cast(cast(sum(log_sum) as double) / cast(sum(pair_count) as double) as decimal(18, 12))
            when sum(tpu_reached) > 0 and sum(trainium_reached) > 0
                then {{ exact_log(
                    'cast(sum(tpu_cost) as double) / cast(sum(tpu_reached) as double)'
                    ~ ' / (cast(sum(trainium_cost) as double) / cast(sum(trainium_reached) as double))'
                ) }}
        end as log_value
    from members
    group by series, quarter_end, {{ compared }}, in_cluster
)

select
    'all' as series, quarter_end, {{ compared }}, stratum_kind, stratum, cluster_start, closed_on,
    pair_count, log_value,
    {%- for amount in amounts %}
    cast({{ amount }} as {{ types[amount] }}) as {{ amount }}{{ ',' if not loop.last }}
    {%- endfor %}
from closed
union all
select
    'last_four' as series, quarter_end, {{ compared }}, stratum_kind, stratum, cluster_start, closed_on,
    pair_count, log_value,
    {%- for amount in amounts %}
    cast({{ amount }} as {{ types[amount] }}) as {{ amount }}{{ ',' if not loop.last }}
    {%- endfor %}
from closed
where stratum_kind = '' and closed_on > quarter_end - interval 12 month
union all
select
    series, quarter_end, {{ compared }}, '' as stratum_kind, '' as stratum, in_cluster as cluster_start, quarter_end as closed_on,
    pair_count, log_value,
    {%- for amount in amounts %}
    cast({{ amount }} as {{ types[amount] }}) as {{ amount }}{{ ',' if not loop.last }}
    {%- endfor %}
from at_extremes
where log_value is not null

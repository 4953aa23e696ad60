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
    where
        pairs.is_registered and pairs.promise in ('to_target', 'fixed_work')
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

-- more than a tenth
short_of_figures as (
    select
        peers.*,
        lacking.cluster_start,
        lacking.pair_key,
        lacking.missing_side,
        lacking.trainium_amount,
        lacking.tpu_amount,
        lacking.trainium_reached,
        lacking.tpu_reached
    from peers
    inner join lacking
        on
            peers.workload_key = lacking.workload_key and peers.kpi = lacking.kpi and peers.factor_view = lacking.factor_view
            and peers.quarter_end >= lacking.closed_on
    where peers.cluster_count >= 6
    qualify
        10 * count(*) over (partition by peers.quarter_end, peers.workload_key, peers.kpi, peers.factor_view, peers.basis_class)
        > count(*) over (partition by peers.quarter_end, peers.workload_key, peers.kpi, peers.factor_view, peers.basis_class)
        + peers.pair_count
),

supposed as (
    {%- for series, trainium, tpu in [('highest', 'trainium_least', 'tpu_most'), ('lowest', 'trainium_most', 'tpu_least')] %}
    select
        '{{ series }}' as series,
        quarter_end, {{ compared }},
        cluster_start,
        case when missing_side = 'trainium' then {{ trainium }} else cast(trainium_amount as double) end as trainium_amount,
        case when missing_side = 'tpu' then {{ tpu }} else cast(tpu_amount as double) end as tpu_amount,
        case when missing_side = 'trainium' then 1 else trainium_reached end as trainium_reached,
        case when missing_side = 'tpu' then 1 else tpu_reached end as tpu_reached
    from short_of_figures
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

-- each into the cluster of its half quarter, which may be one that was joined to a later one
placed as (
    select
        supposed.*,
        coalesce(closed.cluster_start, supposed.cluster_start) as in_cluster
    from supposed
    left join closed
        on
            supposed.quarter_end = closed.quarter_end and supposed.workload_key = closed.workload_key
            and supposed.kpi = closed.kpi and supposed.factor_view = closed.factor_view
            and supposed.basis_class = closed.basis_class and closed.stratum_kind = ''
            and supposed.cluster_start >= closed.cluster_start and supposed.cluster_start < closed.cluster_end
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
    from placed
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

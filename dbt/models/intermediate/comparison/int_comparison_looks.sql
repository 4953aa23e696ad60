{%- set look = 'quarter_end, series, workload_key, kpi, factor_view, basis_class, stratum_kind, stratum' %}
{%- set over = ' over (partition by ' ~ look ~ ')' %}
{%- set amounts = ['trainium_cost', 'tpu_cost', 'trainium_reached', 'tpu_reached'] %}

-- sums of exact logarithms, so that no order of the rows shows; squares at 24 decimals, cubes at 27
with deviations as (
    select
        *,
        cast(log_value - {{ mean_log('log_value', over) }} as decimal(18, 12)) as deviation,
        {%- for amount in amounts %}
        cast(cast(sum({{ amount }}){{ over }} as decimal(37, 12)) - cast({{ amount }} as decimal(37, 12)) as double)
            as other_{{ amount }},
        {%- endfor %}
        row_number() over (partition by {{ look }} order by cluster_start) as place
    from {{ ref('int_comparison_series') }}
),

left_out as (
    select
        *,
        case
            when
                {{ figure_family('kpi') }} = 'primary'
                and other_trainium_cost > 0 and other_trainium_reached > 0 and other_tpu_reached > 0
                then {{ exact_log('other_tpu_cost / other_tpu_reached / (other_trainium_cost / other_trainium_reached)') }}
        end as log_total_without
    from deviations
),

totals as (
    select
        *,
        cast(log_total_without - {{ mean_log('log_total_without', over) }} as decimal(18, 12)) as total_deviation
    from left_out
),

moments as (
    select
        {{ look }},
        count(*) as cluster_count,
        cast(sum(pair_count) as bigint) as pair_count,
        min(cluster_start) as first_cluster_start,
        max(case when place = 6 then closed_on end) as sixth_closed_on,
        cast({{ mean_log('log_value') }} as double) as mean,
        cast(sum(deviation * deviation) as double) as squares,
        cast(sum(
            cast(deviation as decimal(12, 9)) * cast(deviation as decimal(12, 9)) * cast(deviation as decimal(12, 9))
        ) as double) as cubes,
        case
            when
                {{ figure_family('kpi') }} = 'primary'
                and sum(trainium_cost) > 0 and sum(trainium_reached) > 0 and sum(tpu_reached) > 0
                then cast({{ exact_log(
                    'cast(sum(tpu_cost) as double) / cast(sum(tpu_reached) as double)'
                    ~ ' / (cast(sum(trainium_cost) as double) / cast(sum(trainium_reached) as double))'
                ) }} as double)
        end as total_log,
        case
            when count(*) = count(log_total_without) then cast(sum(total_deviation * total_deviation) as double)
        end as total_squares
    from totals
    group by {{ look }}
),

spreads as (
    select
        *,
        case when cluster_count > 1 then sqrt(squares / (cluster_count - 1)) end as spread,
        case
            when squares > 0 then cubes / cluster_count / (squares / cluster_count * sqrt(squares / cluster_count)) else 0e0
        end as skewness,
        sqrt(total_squares * (cluster_count - 1) / cluster_count) as total_error
    from moments
)

select
    {{ look }},
    spreads.cluster_count,
    spreads.pair_count,
    spreads.first_cluster_start,
    spreads.sixth_closed_on,
    spreads.mean,
    spreads.spread,
    spreads.skewness,
    {{ log_e_value('cluster_count', 'mean', 'spread') }} as log_e,
    spreads.total_log,
    case when spreads.cluster_count >= 5 then spreads.total_log - quantiles.t_1 * spreads.total_error end as total_log_low,
    case when spreads.cluster_count >= 5 then spreads.total_log + quantiles.t_1 * spreads.total_error end as total_log_high
from spreads
inner join {{ ref('dim_t_quantiles') }} as quantiles
    on greatest(4, least(spreads.cluster_count - 1, 120)) = quantiles.degrees_of_freedom

{%- set compared = 'window_start, window_end, workload_key, kpi, factor_view' %}

-- the window's pairs: those that decide, where there are none those that are descriptive
with pairs as (
    select
        {{ compared }},
        log_ratio,
        log_ratio_low,
        log_ratio_high,
        use,
        min(use) over (partition by {{ compared }}) as first_use
    from {{ ref('int_comparison_window_pairs') }}
    where setting = '' and log_ratio is not null and use in ('decides', 'descriptive')
),

deviations as (
    select
        *,
        cast(log_ratio - {{ mean_log('log_ratio', ' over (partition by ' ~ compared ~ ')') }} as decimal(18, 12)) as deviation
    from pairs
    where use = first_use
),

moments as (
    select
        {{ compared }},
        count(*) as pair_count,
        cast({{ mean_log('log_ratio') }} as double) as mean,
        case when count(*) = count(log_ratio_low) then cast({{ mean_log('log_ratio_low') }} as double) end as mean_low,
        case when count(*) = count(log_ratio_high) then cast({{ mean_log('log_ratio_high') }} as double) end as mean_high,
        cast(sum(deviation * deviation) as double) as squares
    from deviations
    group by {{ compared }}
),

-- those that decide, at one price basis
listed as (
    select
        {{ compared }},
        cast({{ mean_log('log_ratio') }} as double) as mean_at_list
    from {{ ref('int_comparison_window_pairs') }}
    where setting = 'price: list' and use = 'decides'
    group by {{ compared }}
)

-- the 98 % t interval of these pairs alone
select
    moments.*,
    listed.mean_at_list,
    case
        when moments.pair_count >= 5
            then quantiles.t_1 * sqrt(moments.squares / (moments.pair_count - 1) / moments.pair_count)
    end as half_width
from moments
left join listed
    on
        moments.window_start = listed.window_start and moments.window_end = listed.window_end
        and moments.workload_key = listed.workload_key and moments.kpi = listed.kpi and moments.factor_view = listed.factor_view
inner join {{ ref('dim_t_quantiles') }} as quantiles
    on greatest(4, least(moments.pair_count - 1, 120)) = quantiles.degrees_of_freedom

{%- set look = 'quarter_end, workload_key, kpi, factor_view, basis_class' %}
{%- set group = look ~ ', stratum_kind' %}

with looks as (
    select {{ look }}
    from {{ ref('int_comparison_looks') }}
    where series = 'all' and stratum_kind = '' and cluster_count >= 6
),

pairs as (
    {%- for kind in ['team', 'accelerator', 'region', 'software', 'purchase'] %}
    select
        looks.*,
        '{{ kind }}' as stratum_kind,
        'Trainium: ' || pairs.trainium_{{ kind }} || '; TPU: ' || pairs.tpu_{{ kind }} as stratum,
        pairs.log_ratio
    from looks
    inner join {{ ref('int_comparison_settled_pairs') }} as pairs
        on
            looks.workload_key = pairs.workload_key and looks.kpi = pairs.kpi and looks.factor_view = pairs.factor_view
            and looks.basis_class = pairs.basis_class and looks.quarter_end >= pairs.closed_on
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

grouped as (
    select
        *,
        case when count(*) over (partition by {{ group }}, stratum) >= 3 then stratum else 'rest' end as in_stratum
    from pairs
    where log_ratio is not null
),

centred as (
    select
        {{ group }}, in_stratum,
        {{ mean_log('log_ratio', ' over (partition by ' ~ group ~ ')') }} as mean_of_all,
        {{ mean_log('log_ratio', ' over (partition by ' ~ group ~ ', in_stratum)') }} as mean_of_stratum,
        log_ratio
    from grouped
),

deviations as (
    select
        {{ group }}, in_stratum,
        cast(mean_of_stratum - mean_of_all as decimal(18, 12)) as between_strata,
        cast(log_ratio - mean_of_stratum as decimal(18, 12)) as within_stratum
    from centred
),

sums as (
    select
        {{ group }},
        count(*) as pair_count,
        count(distinct in_stratum) as stratum_count,
        cast(sum(between_strata * between_strata) as double) as squares_between,
        cast(sum(within_stratum * within_stratum) as double) as squares_within
    from deviations
    group by {{ group }}
),

tested as (
    select
        *,
        stratum_count - 1 as numerator_df,
        pair_count - stratum_count as denominator_df,
        case
            when squares_within > 0
                then squares_between / (stratum_count - 1) / (squares_within / (pair_count - stratum_count))
        end as f_value
    from sums
    where stratum_count > 1 and pair_count > stratum_count
),

quantiles as (
    select
        tested.*,
        f.f_99,
        row_number() over (
            partition by {{ group }} order by f.numerator_df desc, f.denominator_df desc
        ) as place
    from tested
    inner join {{ ref('dim_f_quantiles') }} as f
        on tested.numerator_df >= f.numerator_df and tested.denominator_df >= f.denominator_df
)

select
    {{ group }},
    stratum_count,
    pair_count,
    {{ significant('f_value') }} as f_value,
    f_99 as f_needed,
    case when squares_within > 0 then f_value > f_99 else squares_between > 0 end as is_different
from quantiles
where place = 1

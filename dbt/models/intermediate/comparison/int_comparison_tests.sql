{%- set compared = 'window_start, window_end, workload_key, kpi, factor_view' %}

-- sums of exact logarithms, so that no order of the rows shows; squares at 24 decimals, cubes at 27
with deviations as (
    select
        {{ compared }},
        log_ratio,
        log_ratio_low,
        log_ratio_high,
        basis_class,
        is_power_assumed,
        cast(log_ratio - {{ mean_log('log_ratio', ' over (partition by ' ~ compared ~ ')') }} as decimal(18, 12)) as deviation
    from {{ ref('int_comparison_window_pairs') }}
    where setting = '' and log_ratio is not null and use <> 'not_comparable'
),

moments as (
    select
        {{ compared }},
        count(*) as pair_count,
        cast({{ mean_log('log_ratio') }} as double) as mean,
        case when count(*) = count(log_ratio_low) then cast({{ mean_log('log_ratio_low') }} as double) end as mean_low,
        case when count(*) = count(log_ratio_high) then cast({{ mean_log('log_ratio_high') }} as double) end as mean_high,
        cast(sum(deviation * deviation) as double) as squares,
        cast(sum(
            cast(deviation as decimal(12, 9)) * cast(deviation as decimal(12, 9)) * cast(deviation as decimal(12, 9))
        ) as double) as cubes,
        min(basis_class) as first_basis,
        max(basis_class) as last_basis,
        bool_or(is_power_assumed) as is_power_assumed
    from deviations
    group by {{ compared }}
),

-- a stratum that points the other way: the mean of all would hide it
strata as (
    select
        {{ compared }},
        min(mean_log_ratio) < 0 and max(mean_log_ratio) > 0 as is_simpson
    from {{ ref('int_comparison_strata') }}
    group by {{ compared }}
),

spreads as (
    select
        moments.*,
        strata.is_simpson,
        moments.kpi like 'cost_per_run%' as is_primary,
        moments.kpi like 'energy%' or moments.kpi like '%gco2e%' as is_modelled,
        -- more is better of these two, less of all others
        moments.kpi in ('mfu_ratio', 'goodput_ratio', 'held_time_utilisation_ratio') as is_more_better,
        case when moments.pair_count > 1 then sqrt(moments.squares / (moments.pair_count - 1)) end as spread,
        -- |skewness| of the sample above 1.25: the mean of so few is not near enough to normal (docs/adr/0045)
        moments.squares > 0
        and abs(moments.cubes) / moments.pair_count
        > 1.25e0 * (moments.squares / moments.pair_count) * sqrt(moments.squares / moments.pair_count) as is_skewed,
        moments.first_basis <> moments.last_basis or moments.first_basis = 'mixed' as is_basis_mixed
    from moments
    inner join strata using ({{ compared }})
),

standard as (
    select
        spreads.*,
        spreads.spread / sqrt(cast(spreads.pair_count as double)) as standard_error,
        {%- for k in range(1, 9) %}
        quantiles.t_{{ k }},
        {%- endfor %}
        spreads.pair_count >= 5 and spreads.factor_view = 'chip'
        and not (spreads.is_modelled and (spreads.is_power_assumed or spreads.is_basis_mixed)) as is_tested
    from spreads
    -- with more than 121 pairs the quantile of 120 degrees of freedom, which is a little wide; fewer than 5 are never tested
    inner join {{ ref('dim_t_quantiles') }} as quantiles
        on greatest(4, least(spreads.pair_count - 1, 120)) = quantiles.degrees_of_freedom
),

-- Holm by the table: among how many tests a difference would still be one. p <= 2 % / k exactly where |t| reaches t_k.
ranked as (
    select
        *,
        case when is_tested then
            {%- for k in range(1, 9) %}
            {{ '+ ' if not loop.first }}case when abs(mean) > t_{{ k }} * standard_error then 1 else 0 end
            {%- endfor %}
        end as passed_tests,
        is_tested and not is_primary as is_secondary
    from standard
),

levels as (
    select
        *,
        case
            when is_secondary
                then
                    count(*) over (partition by window_start, window_end, workload_key, is_secondary)
                    - row_number() over (
                        partition by window_start, window_end, workload_key, is_secondary order by passed_tests desc, kpi
                    ) + 1
            else 1
        end as test_level
    from ranked
),

stepped as (
    select
        *,
        -- one that fails stops all after it
        is_tested and min(case when passed_tests >= test_level then 1 else 0 end) over (
            partition by window_start, window_end, workload_key, is_secondary, is_tested
            order by test_level desc
            rows between unbounded preceding and current row
        ) = 1 as is_different,
        case test_level
            {%- for k in range(1, 9) %}
            when {{ k }} then t_{{ k }}
            {%- endfor %}
        end * standard_error as margin
    from levels
)

select
    {{ compared }},
    pair_count,
    mean,
    mean_low,
    mean_high,
    spread,
    t_1 * standard_error as half_width,
    margin,
    test_level,
    is_primary,
    is_modelled,
    is_more_better,
    is_simpson,
    is_skewed,
    is_basis_mixed,
    is_power_assumed,
    is_different,
    -- the interval moved to either corner of the power bounds has the difference on the same side
    is_different and coalesce(mean_low - margin > 0 or mean_high + margin < 0, false) as is_different_at_corners,
    coalesce(mean_low <= 0 and mean_high >= 0, true) as is_open_by_power
from stepped

{%- set compared = 'workload_key, kpi, factor_view' %}
{%- set look = 'quarter_end, ' ~ compared %}
{%- set ln_50, ln_8 = 'ln(50e0)', 'cast(2.079441542 as decimal(18, 9))' %}

with figure_families as (
    select distinct
        kpi,
        {{ figure_family('kpi') }} as family
    from {{ ref('int_comparison_looks') }}
),

moves as (
    {%- for is_shifted, move in [('false', 'none'), ('true', 'none'), ('true', 'low'), ('true', 'high')] %}
    select
        {{ is_shifted }} as is_shifted,
        '{{ move }}' as move
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

least_differences as (
    select value as least_difference from {{ ref('dim_comparison_settings') }}
    where setting = 'least_difference'
),

-- each series as it is, and moved to either end of what the power terms allow
variants as (
    select
        looks.*,
        figure_families.family,
        looks.mean
        + case moves.move when 'low' then shifts.shift_low when 'high' then shifts.shift_high else 0e0 end as moved_mean,
        moves.move
    from {{ ref('int_comparison_looks') }} as looks
    inner join figure_families on looks.kpi = figure_families.kpi
    left join {{ ref('int_comparison_shifts') }} as shifts
        on
            looks.quarter_end = shifts.quarter_end and looks.workload_key = shifts.workload_key and looks.kpi = shifts.kpi
            and looks.factor_view = shifts.factor_view and looks.basis_class = shifts.basis_class
    inner join moves on (shifts.shift_low is not null) = moves.is_shifted
    where looks.stratum_kind = '' and looks.factor_view = 'chip' and figure_families.family is not null
),

strengths as (
    select
        {{ look }}, basis_class, series, family, cluster_count, pair_count, first_cluster_start, sixth_closed_on,
        mean, spread, skewness,
        log_e as log_e_as_it_is, total_log, total_log_low, total_log_high,
        abs(skewness) > 1.25e0 as is_skewed,
        min(moved_mean) as least_mean,
        max(moved_mean) as greatest_mean,
        -- where the shifts turn the side there is no e for either
        case
            when min(moved_mean) > 0 or max(moved_mean) < 0 then min({{ log_e_value('cluster_count', 'moved_mean', 'spread') }})
        end as log_e
    from variants
    group by
        {{ look }}, basis_class, series, family, cluster_count, pair_count, first_cluster_start, sixth_closed_on,
        mean, spread, skewness, log_e, total_log, total_log_low, total_log_high
),

by_class as (
    select
        *,
        -- the better class from six clusters on
        row_number() over (
            partition by {{ look }}
            order by
                case when cluster_count >= 6 then 0 else 1 end,
                case when cluster_count >= 6 and basis_class = 'measured' then 0 else 1 end,
                cluster_count desc, basis_class
        ) as place
    from strengths
    where series = 'all'
),

assumed as (
    select
        looks.quarter_end, looks.workload_key, looks.kpi, looks.factor_view, looks.basis_class,
        bool_or(pairs.is_power_assumed) as is_power_assumed
    from by_class as looks
    inner join {{ ref('int_comparison_settled_pairs') }} as pairs
        on
            looks.workload_key = pairs.workload_key and looks.kpi = pairs.kpi and looks.factor_view = pairs.factor_view
            and looks.basis_class = pairs.basis_class and looks.quarter_end >= pairs.closed_on
    where looks.family = 'energy' and looks.place = 1
    group by looks.quarter_end, looks.workload_key, looks.kpi, looks.factor_view, looks.basis_class
),

-- what a cluster waits for: the last one, or one that at that time was the last and has been joined to a later one since
unreached as (
    select
        by_class.quarter_end, by_class.workload_key, by_class.kpi, by_class.factor_view,
        bool_or(coalesce(by_class.quarter_end < clusters.trainium_reached_on, true)) as is_trainium_unreached,
        bool_or(coalesce(by_class.quarter_end < clusters.tpu_reached_on, true)) as is_tpu_unreached
    from by_class
    inner join {{ ref('int_comparison_clusters') }} as clusters
        on
            by_class.workload_key = clusters.workload_key and by_class.kpi = clusters.kpi
            and by_class.factor_view = clusters.factor_view and by_class.basis_class = clusters.basis_class
    where by_class.place = 1 and clusters.stratum_kind = '' and by_class.quarter_end >= clusters.begun_on
    group by by_class.quarter_end, by_class.workload_key, by_class.kpi, by_class.factor_view
),

deciding as (
    select
        chosen.*,
        sign(chosen.mean) as direction,
        coalesce(assumed.is_power_assumed, false) as is_power_assumed,
        coalesce(unreached.is_trainium_unreached, false) as is_trainium_unreached,
        coalesce(unreached.is_tpu_unreached, false) as is_tpu_unreached,
        highest.cluster_count is not null as is_short_of_figures,
        {%- for series in ['highest', 'lowest', 'recent', 'other'] %}
        {{ series }}.cluster_count as {{ series }}_count,
        {{ series }}.spread as {{ series }}_spread,
        {{ series }}.least_mean as {{ series }}_least_mean,
        {{ series }}.greatest_mean as {{ series }}_greatest_mean,
        {{ series }}.is_skewed as {{ series }}_is_skewed,
        {{ series }}.log_e as {{ series }}_log_e,
        {%- endfor %}
        -- the least e of all that was asked, if all point the same way
        case
            when highest.cluster_count is null then chosen.log_e
            when chosen.log_e is not null and highest.log_e is not null and lowest.log_e is not null
                and sign(highest.mean) = sign(chosen.mean) and sign(lowest.mean) = sign(chosen.mean)
                then least(chosen.log_e, highest.log_e, lowest.log_e)
        end as log_e_of_row,
        case
            when chosen.family <> 'primary' or not chosen.is_skewed then true
            else coalesce(case when chosen.mean > 0 then chosen.total_log_low > 0 else chosen.total_log_high < 0 end, false)
        end as is_total_alike
    from by_class as chosen
    {%- for series, alias in [('highest', 'highest'), ('lowest', 'lowest'), ('last_four', 'recent')] %}
    left join strengths as {{ alias }}
        on
            chosen.quarter_end = {{ alias }}.quarter_end and chosen.workload_key = {{ alias }}.workload_key
            and chosen.kpi = {{ alias }}.kpi and chosen.factor_view = {{ alias }}.factor_view
            and chosen.basis_class = {{ alias }}.basis_class and {{ alias }}.series = '{{ series }}'
    {%- endfor %}
    left join by_class as other
        on
            chosen.quarter_end = other.quarter_end and chosen.workload_key = other.workload_key
            and chosen.kpi = other.kpi and chosen.factor_view = other.factor_view and other.place = 2 and other.cluster_count >= 6
    left join assumed
        on
            chosen.quarter_end = assumed.quarter_end and chosen.workload_key = assumed.workload_key
            and chosen.kpi = assumed.kpi and chosen.factor_view = assumed.factor_view
    left join unreached
        on
            chosen.quarter_end = unreached.quarter_end and chosen.workload_key = unreached.workload_key
            and chosen.kpi = unreached.kpi and chosen.factor_view = unreached.factor_view
    where chosen.place = 1
),

-- e-BH: e, or an eighth where skewed; null counts as 0
counted as (
    select
        *,
        case when is_skewed then {{ ln_8 }} else cast(0 as decimal(18, 9)) end as log_skew,
        case
            when cluster_count < 6 or is_power_assumed or not is_total_alike then null
            when (is_trainium_unreached and mean > 0) or (is_tpu_unreached and mean < 0) then null
            else cast(log_e_of_row - case when is_skewed then {{ ln_8 }} else 0 end as decimal(18, 9))
        end as log_e_counted
    from deciding
),

ranked as (
    select
        *,
        case when cluster_count >= 6 then row_number() over (
            partition by quarter_end, family, cluster_count >= 6
            order by case when log_e_counted is null then 1 else 0 end, log_e_counted desc, {{ compared }}
        ) end as place_of_e,
        case when cluster_count >= 6 then count(*) over (partition by quarter_end, family, cluster_count >= 6) end as m
    from counted
),

passed as (
    select
        *,
        coalesce(max(
            case
                when log_e_counted >= cast({{ ln_50 }} + ln(cast(m as double)) - ln(cast(place_of_e as double)) as decimal(18, 9))
                    then place_of_e
            end
        ) over (partition by quarter_end, family, cluster_count >= 6), 0) as k
    from ranked
),

needed as (
    select
        *,
        case
            when cluster_count >= 6 and place_of_e <= k then 50e0 * m / k
            when cluster_count >= 6 then 50e0 * m / (k + 1)
        end as e_needed_unskewed,
        cast(
            {{ ln_50 }} + ln(cast(m as double)) - ln(cast(case when place_of_e <= k then k else k + 1 end as double))
            as decimal(18, 9)
        ) as log_e_needed_unskewed,
        case when place_of_e <= k then direction else 0e0 end as claimed_direction
    from passed
),

-- h at E, of each series that is asked
half_widths as (
    select
        *,
        cast(log_e_needed_unskewed + log_skew as decimal(18, 9)) as log_e_needed,
        {{ sequence_half_width('cluster_count', 'spread', '(log_e_needed_unskewed + log_skew)') }} as half_width,
        {{ sequence_half_width('highest_count', 'highest_spread', '(log_e_needed_unskewed + log_skew)') }} as highest_half_width,
        {{ sequence_half_width('lowest_count', 'lowest_spread', '(log_e_needed_unskewed + log_skew)') }} as lowest_half_width,
        {{ sequence_half_width(
            'other_count', 'other_spread', '(log_e_needed_unskewed + case when other_is_skewed then ' ~ ln_8 ~ ' else 0 end)'
        ) }} as other_half_width,
        case
            when recent_count >= 6
                and recent_log_e >= log_e_needed_unskewed + case when recent_is_skewed then {{ ln_8 }} else 0 end
                then sign(recent_least_mean)
            else 0e0
        end as recent_direction
    from needed
),

measured as (
    select
        half_widths.*,
        ln(1e0 + settings.least_difference) as log_least_difference
    from half_widths
    cross join least_differences as settings
),

intervals as (
    select
        *,
        -- endless where one of them is
        case
            when not is_short_of_figures then least_mean - half_width
            when half_width is not null and highest_half_width is not null and lowest_half_width is not null
                then least(
                    least_mean - half_width, highest_least_mean - highest_half_width, lowest_least_mean - lowest_half_width
                )
        end as decided_log_low,
        case
            when not is_short_of_figures then greatest_mean + half_width
            when half_width is not null and highest_half_width is not null and lowest_half_width is not null
                then greatest(
                    greatest_mean + half_width,
                    highest_greatest_mean + highest_half_width,
                    lowest_greatest_mean + lowest_half_width
                )
        end as decided_log_high,
        other_least_mean - other_half_width as other_log_low,
        other_greatest_mean + other_half_width as other_log_high
    from measured
),

-- a claim holds until the last four quarters are wholly on the other side: the newest claim, and when it was refuted
claims as (
    select
        *,
        max(case when claimed_direction <> 0 then quarter_end end) over (
            partition by {{ compared }} order by quarter_end rows between unbounded preceding and current row
        ) as claimed_at
    from intervals
),

newest as (
    select
        claims.*,
        made.claimed_direction as held_direction,
        made.mean as claim_mean,
        made.log_e_of_row as claim_log_e,
        made.e_needed_unskewed as claim_e_needed_unskewed,
        made.is_skewed as claim_is_skewed,
        made.decided_log_low as claim_log_low,
        made.decided_log_high as claim_log_high,
        made.m as claim_m,
        made.k as claim_k,
        made.cluster_count as claim_cluster_count
    from claims
    left join claims as made
        on
            claims.workload_key = made.workload_key and claims.kpi = made.kpi and claims.factor_view = made.factor_view
            and claims.claimed_at = made.quarter_end
),

refuted as (
    select
        *,
        min(case when held_direction * recent_direction < 0 then quarter_end end) over (
            partition by {{ compared }}, claimed_at order by quarter_end rows between unbounded preceding and current row
        ) as refuted_at
    from newest
),

held as (
    select
        *,
        case when claimed_at is not null and refuted_at is null then held_direction else 0e0 end as standing_direction,
        lag(case when claimed_at is not null and refuted_at is null then held_direction else 0e0 end, 1, 0e0) over (
            partition by {{ compared }} order by quarter_end
        ) as direction_before
    from refuted
),

outcomes as (
    select
        *,
        coalesce(refuted_at = quarter_end, false) as is_claim_refuted,
        claimed_direction * direction_before < 0 as is_claim_turned,
        coalesce(decided_log_low >= -log_least_difference and decided_log_high <= log_least_difference, false)
        and (
            family <> 'primary' or not is_skewed
            or coalesce(total_log_low >= -log_least_difference and total_log_high <= log_least_difference, false)
        ) as is_equivalent,
        -- what either basis class decides by itself, at E of the row
        case
            when decided_log_low >= -log_least_difference and decided_log_high <= log_least_difference then 'equivalent'
            when log_e_of_row >= log_e_needed then case when direction > 0 then 'above' else 'below' end
        end as decides_itself,
        case
            when other_log_low >= -log_least_difference and other_log_high <= log_least_difference then 'equivalent'
            when other_log_e >= log_e_needed_unskewed + case when other_is_skewed then {{ ln_8 }} else 0 end
                then case when other_least_mean > 0 then 'above' else 'below' end
        end as other_decides
    from held
)

{#- location-based energy in the chip view is the energy times a constant: tested once #}
{% for copied in [none, 'location_based_gco2e_per_million_tokens'] %}
{{ 'union all' if copied }}
select
    quarter_end,
    workload_key,
    {{ "'" ~ copied ~ "' as kpi" if copied else 'kpi' }},
    factor_view,
    family,
    basis_class,
    cluster_count,
    pair_count,
    first_cluster_start,
    sixth_closed_on,
    mean,
    spread,
    skewness,
    is_skewed,
    total_log,
    total_log_low,
    total_log_high,
    is_total_alike,
    is_power_assumed,
    is_short_of_figures,
    log_e_as_it_is,
    log_e as log_e_with_power,
    log_e_of_row as log_e,
    m,
    k,
    case when is_skewed then 8e0 * e_needed_unskewed else e_needed_unskewed end as e_needed,
    log_e_needed,
    log_e_needed_unskewed,
    decided_log_low,
    decided_log_high,
    log_least_difference,
    claimed_direction,
    recent_direction,
    standing_direction,
    is_claim_refuted,
    is_claim_turned,
    is_equivalent,
    coalesce(decides_itself <> other_decides, false) as is_class_opposed,
    claimed_at,
    claim_mean,
    claim_log_e,
    case when claim_is_skewed then 8e0 * claim_e_needed_unskewed else claim_e_needed_unskewed end as claim_e_needed,
    claim_log_low,
    claim_log_high,
    claim_m,
    claim_k,
    claim_cluster_count
from outcomes
{%- if copied %}
where
    kpi = 'energy_kwh_per_million_tokens'
    -- null where no grid is known
    and exists (
        select 1 from {{ ref('int_comparison_looks') }} as copies
        where
            copies.quarter_end = outcomes.quarter_end and copies.workload_key = outcomes.workload_key and copies.series = 'all'
            and copies.stratum_kind = '' and copies.kpi = '{{ copied }}' and copies.factor_view = 'chip'
    )
{%- endif %}
{%- endfor %}

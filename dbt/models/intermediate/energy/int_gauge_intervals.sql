{{ config(materialized='by_month') }}
{%- set series = 'usage_month, host_id, device_index, is_measured' %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

points as (
    select distinct
        months.usage_month,
        samples.run_key,
        samples.host_id,
        samples.device_index,
        samples.is_measured,
        samples.sample_to_us,
        samples.document_hash,
        samples.utilisation_ppm
    from {{ ref('stg_tpu_monitoring__samples') }} as samples
    inner join months
        on
            samples.sample_to_us > months.month_from_us - 172800000000
            and samples.sample_to_us <= months.month_to_us + 172800000000
    where samples.sample_from_us is null
),

point_times as (
    select distinct {{ series }}, sample_to_us, sample_to_us - sample_to_us % 86400000000 as day_us
    from points
),

points_with_spacing as (
    select *, lag(sample_to_us) over (partition by {{ series }} order by sample_to_us) as before_us
    from point_times
),

ranked_spacings as (
    select
        *,
        sample_to_us - before_us as spacing_us,
        row_number() over (partition by {{ series }}, day_us order by sample_to_us - before_us) as day_rank,
        count(*) over (partition by {{ series }}, day_us) as day_count,
        row_number() over (partition by {{ series }} order by sample_to_us - before_us) as series_rank,
        count(*) over (partition by {{ series }}) as series_count,
        row_number() over (partition by usage_month, host_id order by sample_to_us - before_us) as host_rank,
        count(*) over (partition by usage_month, host_id) as host_count
    from points_with_spacing
    where before_us is not null
),

-- the lower median; of the day where it has three spacings, since old points are kept more coarsely than new ones
day_spacing as (
    select {{ series }}, day_us, spacing_us from ranked_spacings
    where day_count >= 3 and day_rank = (day_count + 1 - (day_count + 1) % 2) / 2
),

series_spacing as (
    select {{ series }}, spacing_us from ranked_spacings
    where series_rank = (series_count + 1 - (series_count + 1) % 2) / 2
),

host_spacing as (
    select usage_month, host_id, spacing_us from ranked_spacings
    where host_rank = (host_count + 1 - (host_count + 1) % 2) / 2
),

points_with_usual_spacing as (
    select
        points_with_spacing.*,
        -- a host seen once: Google writes a point a minute
        coalesce(day_spacing.spacing_us, series_spacing.spacing_us, host_spacing.spacing_us, 60000000) as usual_spacing_us
    from points_with_spacing
    left join day_spacing using ({{ series }}, day_us)
    left join series_spacing using ({{ series }})
    left join host_spacing using (usage_month, host_id)
),

host_times as (
    select distinct usage_month, host_id, sample_to_us as seen_at_us from point_times
),

host_alive_during_silence as (
    select distinct {{ series }}, spaced.sample_to_us
    from points_with_usual_spacing as spaced
    inner join host_times using (usage_month, host_id)
    where
        -- only in a silence longer than usual does it matter whether the host was alive
        spaced.sample_to_us - spaced.before_us > spaced.usual_spacing_us
        and host_times.seen_at_us > spaced.before_us
        and host_times.seen_at_us <= spaced.sample_to_us - spaced.usual_spacing_us
        -- nothing further back could be covered anyway
        and host_times.seen_at_us >= spaced.sample_to_us - 3 * spaced.usual_spacing_us
),

covered_times as (
    select
        {{ series }},
        sample_to_us,
        case
            when spaced.before_us is null or alive.usage_month is not null
                then sample_to_us - spaced.usual_spacing_us
            else greatest(spaced.before_us, sample_to_us - 3 * spaced.usual_spacing_us)
        end as sample_from_us
    from points_with_usual_spacing as spaced
    left join host_alive_during_silence as alive using ({{ series }}, sample_to_us)
)

select
    {{ series }},
    points.run_key,
    points.document_hash,
    covered_times.sample_from_us,
    sample_to_us,
    points.utilisation_ppm
from points
inner join covered_times using ({{ series }}, sample_to_us)

{{ config(materialized='by_month') }}
{%- set series = 'usage_month, host_id, device_index, is_measured' %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

-- telemetry without any duty cycle says nothing of use, so there a chip that lives is not idle
sources_of_use as (
    select distinct months.usage_month, samples.source_name
    from {{ ref('stg_tpu_monitoring__samples') }} as samples
    inner join months on samples.sample_to_us > months.month_from_us and samples.sample_to_us <= months.month_to_us
    where samples.is_measured
),

-- a month does not change when points of the next one come
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
            and samples.sample_to_us <= months.month_to_us
    inner join sources_of_use as sources
        on months.usage_month = sources.usage_month and samples.source_name = sources.source_name
    where samples.sample_from_us is null
),

point_times as (
    select distinct {{ series }}, sample_to_us, sample_to_us - 1 - (sample_to_us - 1) % 86400000000 as day_us
    from points
),

points_with_spacing as (
    select *, lag(sample_to_us) over (partition by {{ series }} order by sample_to_us) as before_us
    from point_times
),

spacings_of_month as (
    select points_with_spacing.*, points_with_spacing.sample_to_us - points_with_spacing.before_us as spacing_us
    from points_with_spacing
    inner join months using (usage_month)
    where points_with_spacing.before_us is not null and points_with_spacing.sample_to_us > months.month_from_us
),

ranked_spacings as (
    select
        *,
        row_number() over (partition by {{ series }}, day_us order by spacing_us) as day_rank,
        count(*) over (partition by {{ series }}, day_us) as day_count,
        row_number() over (partition by {{ series }} order by spacing_us) as series_rank,
        count(*) over (partition by {{ series }}) as series_count,
        row_number() over (partition by usage_month, host_id order by spacing_us) as host_rank,
        count(*) over (partition by usage_month, host_id) as host_count
    from spacings_of_month
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
        -- only in a silence does it matter whether the host was alive
        2 * (spaced.sample_to_us - spaced.before_us) > 3 * spaced.usual_spacing_us
        and host_times.seen_at_us > spaced.before_us
        and host_times.seen_at_us <= spaced.sample_to_us - spaced.usual_spacing_us
        -- nothing further back could be covered anyway
        and host_times.seen_at_us >= spaced.sample_to_us - 3 * spaced.usual_spacing_us
),

covered_times as (
    select
        {{ series }},
        sample_to_us,
        spaced.before_us,
        case
            -- the spacing before it; a longer silence is one spacing seen
            when 2 * (sample_to_us - spaced.before_us) <= 3 * spaced.usual_spacing_us then spaced.before_us
            else sample_to_us - spaced.usual_spacing_us
        end as sample_from_us,
        -- and up to three spacings the rest is filled
        coalesce(
            sample_to_us - spaced.before_us <= 3 * spaced.usual_spacing_us and alive.usage_month is null, false
        ) as is_bridged
    from points_with_usual_spacing as spaced
    left join host_alive_during_silence as alive using ({{ series }}, sample_to_us)
)

select
    {{ series }},
    points.run_key,
    points.document_hash,
    covered_times.sample_from_us,
    sample_to_us,
    points.utilisation_ppm,
    false as is_filled
from points
inner join covered_times using ({{ series }}, sample_to_us)

union all

select
    {{ series }},
    points.run_key,
    points.document_hash,
    covered_times.before_us as sample_from_us,
    covered_times.sample_from_us as sample_to_us,
    points.utilisation_ppm,
    true as is_filled
from points
inner join covered_times using ({{ series }}, sample_to_us)
where covered_times.is_bridged and covered_times.before_us < covered_times.sample_from_us

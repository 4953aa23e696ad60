{{ config(materialized='incremental', incremental_strategy='append', pre_hook="{{ delete_build_months() }}") }}
{%- set series = 'usage_month, host_id, device_index, is_measured' %}

with months as (
    {{ month_bounds() }}
    from {{ source('raw', 'build_months') }}
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

times as (
    select distinct {{ series }}, sample_to_us, sample_to_us - sample_to_us % 86400000000 as day_us
    from points
),

spaced as (
    select *, lag(sample_to_us) over (partition by {{ series }} order by sample_to_us) as before_us
    from times
),

ranked as (
    select
        *,
        sample_to_us - before_us as spacing_us,
        row_number() over (partition by {{ series }}, day_us order by sample_to_us - before_us) as day_rank,
        count(*) over (partition by {{ series }}, day_us) as day_count,
        row_number() over (partition by {{ series }} order by sample_to_us - before_us) as series_rank,
        count(*) over (partition by {{ series }}) as series_count,
        row_number() over (partition by usage_month, host_id order by sample_to_us - before_us) as host_rank,
        count(*) over (partition by usage_month, host_id) as host_count
    from spaced
    where before_us is not null
),

-- the lower median; of the day where it has three spacings, since old points are kept more coarsely than new ones
day_spacing as (
    select {{ series }}, day_us, spacing_us from ranked
    where day_count >= 3 and day_rank = (day_count + 1 - (day_count + 1) % 2) / 2
),

series_spacing as (
    select {{ series }}, spacing_us from ranked
    where series_rank = (series_count + 1 - (series_count + 1) % 2) / 2
),

host_spacing as (
    select usage_month, host_id, spacing_us from ranked
    where host_rank = (host_count + 1 - (host_count + 1) % 2) / 2
),

usual as (
    select
        spaced.*,
        -- a host seen once: Google writes a point a minute
        coalesce(day_spacing.spacing_us, series_spacing.spacing_us, host_spacing.spacing_us, 60000000) as usual_us
    from spaced
    left join day_spacing
        on
            spaced.usage_month = day_spacing.usage_month
            and spaced.host_id = day_spacing.host_id
            and spaced.device_index = day_spacing.device_index
            and spaced.is_measured = day_spacing.is_measured
            and spaced.day_us = day_spacing.day_us
    left join series_spacing
        on
            spaced.usage_month = series_spacing.usage_month
            and spaced.host_id = series_spacing.host_id
            and spaced.device_index = series_spacing.device_index
            and spaced.is_measured = series_spacing.is_measured
    left join host_spacing
        on spaced.usage_month = host_spacing.usage_month and spaced.host_id = host_spacing.host_id
),

-- only after a silence longer than usual can it matter that the host lived on
silences as (
    select * from usual
    where sample_to_us - before_us > usual_us
),

host_times as (
    select distinct usage_month, host_id, sample_to_us from times
),

lived_on as (
    select distinct
        silences.usage_month,
        silences.host_id,
        silences.device_index,
        silences.is_measured,
        silences.sample_to_us
    from silences
    inner join host_times
        on
            silences.usage_month = host_times.usage_month
            and silences.host_id = host_times.host_id
            and host_times.sample_to_us > silences.before_us
            and host_times.sample_to_us <= silences.sample_to_us - silences.usual_us
            -- nothing further back could be covered anyway
            and host_times.sample_to_us >= silences.sample_to_us - 3 * silences.usual_us
),

covered as (
    select
        usual.usage_month,
        usual.host_id,
        usual.device_index,
        usual.is_measured,
        usual.sample_to_us,
        case
            when usual.before_us is null or lived_on.host_id is not null then usual.sample_to_us - usual.usual_us
            else greatest(usual.before_us, usual.sample_to_us - 3 * usual.usual_us)
        end as sample_from_us
    from usual
    left join lived_on
        on
            usual.usage_month = lived_on.usage_month
            and usual.host_id = lived_on.host_id
            and usual.device_index = lived_on.device_index
            and usual.is_measured = lived_on.is_measured
            and usual.sample_to_us = lived_on.sample_to_us
)

select
    points.usage_month,
    points.run_key,
    points.host_id,
    points.device_index,
    points.is_measured,
    points.document_hash,
    covered.sample_from_us,
    points.sample_to_us,
    points.utilisation_ppm
from points
inner join covered
    on
        points.usage_month = covered.usage_month
        and points.host_id = covered.host_id
        and points.device_index = covered.device_index
        and points.is_measured = covered.is_measured
        and points.sample_to_us = covered.sample_to_us

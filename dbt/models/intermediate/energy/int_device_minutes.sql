{%- set days = {'by_day': 'usage_day', 'of_landed_days': 'neuron_monitor'} %}
{%- set reaches = ['coalesce(sample_from_us, sample_to_us - 1)', 'sample_to_us - 1'] %}
{{ config(materialized='by_month', meta=dict(days, reaches=reaches, empty_without=['stg_neuron_monitor__samples'])) }}
{%- set minute_us, day_us = 60000000, 86400000000 %}
{%- set series = 'usage_month, source_name, run_key, host_id, device_index' %}
{%- set stated = 'source_name, run_key, host_id, accelerator_type, device_count, region_id, device_index, is_measured' %}
{%- set in_time = 'partition by ' ~ series ~ ' order by sample_to_us' %}
{%- set single = ['document_hash', 'sample_from_us', 'sample_to_us', 'utilisation_ppm'] %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

-- two samples that leave no gap leave none at midnight of the first
samples as (
    select
        months.usage_month,
        {%- for name in stated.split(', ') + single %}
        delivered.{{ name }},
        {%- endfor %}
        delivered.used_ppm_us,
        case when delivered.is_measured then delivered.utilisation_ppm end as known_ppm,
        delivered.sample_to_us - 1 - (delivered.sample_to_us - 1) % {{ minute_us }} as minute_us,
        -- of the day in which it ends; what only reaches into the month, of its first or its last
        least(
            greatest(delivered.sample_to_us - 1 - (delivered.sample_to_us - 1) % {{ day_us }}, months.month_from_us),
            months.month_to_us - {{ day_us }}
        ) as day_us,
        delivered.sample_from_us >= months.month_from_us
        and delivered.sample_to_us <= months.month_to_us
        and delivered.sample_from_us >= delivered.sample_to_us - 1 - (delivered.sample_to_us - 1) % {{ day_us }} as is_within_day
    from {{ ref('stg_neuron_monitor__samples') }} as delivered
    inner join months
        on
            delivered.sample_to_us > months.month_from_us - {{ telemetry_gap_us() }}
            and coalesce(delivered.sample_from_us, delivered.sample_to_us - 1) < months.month_to_us + {{ telemetry_gap_us() }}
),

-- a day is built of the samples within minutes of it: what is further away must not decide whether samples follow each other, so
-- one of no length is where it ends, and one beside a longer one than a minute is not in order
neighbours as (
    select
        *,
        lag(sample_from_us) over ({{ in_time }}) as before_from_us,
        lag(sample_to_us) over ({{ in_time }}) as before_to_us,
        lag(known_ppm) over ({{ in_time }}) as before_ppm,
        lag(sample_to_us, 2) over ({{ in_time }}) as earlier_to_us,
        lead(coalesce(sample_from_us, sample_to_us - 1)) over ({{ in_time }}) as next_from_us,
        lead(sample_to_us) over ({{ in_time }}) as next_to_us,
        lead(known_ppm) over ({{ in_time }}) as next_ppm,
        lead(sample_to_us, 2) over ({{ in_time }}) as later_to_us,
        min(sample_from_us) over ({{ in_time }} rows between 2 following and unbounded following) as later_from_us
    from samples
    where used_ppm_us is null or not is_within_day
),

-- one after the other: a sample of known use that meets the one before it and the one after it at most with its ends
ordered as (
    select
        *,
        coalesce(
            is_within_day
            and host_id is not null
            and known_ppm is not null
            and sample_to_us - sample_from_us <= {{ minute_us }}
            and coalesce(before_to_us < sample_to_us, true)
            and coalesce(sample_to_us < next_to_us, true)
            and (
                before_to_us is null
                or before_to_us <= sample_from_us
                or (before_from_us <= sample_from_us and before_ppm is not null)
            )
            and coalesce(earlier_to_us <= sample_from_us, true)
            and coalesce(sample_from_us <= next_from_us, true)
            and coalesce(sample_to_us <= next_from_us or next_to_us - next_from_us <= {{ minute_us }}, true)
            and coalesce(before_to_us <= next_from_us, true)
            and coalesce(sample_to_us <= later_from_us, true)
            -- a gap within a minute
            and coalesce(sample_from_us <= before_to_us + {{ telemetry_gap_us() }} or before_to_us <= minute_us, true)
            -- the gap that is none lies in the day before
            and coalesce(before_to_us >= day_us or sample_from_us > before_to_us + {{ telemetry_gap_us() }}, true),
            false
        ) as is_in_order
    from neighbours
),

-- minutes that are no single row: a sample of theirs is out of order, or alone and no shorter as a minute
other_minutes as (
    select
        usage_month, source_name, coalesce(run_key, '') as run, coalesce(host_id, '') as host, device_index, minute_us,
        count(*) as other_samples
    from ordered
    group by all
    having not bool_and(is_in_order) or count(*) = 1
),

ordered_with_minutes as (
    select ordered.*, other_minutes.other_samples is null as is_minute
    from ordered
    left join other_minutes
        on
            ordered.usage_month = other_minutes.usage_month
            and ordered.source_name = other_minutes.source_name
            and ordered.device_index = other_minutes.device_index
            and ordered.minute_us = other_minutes.minute_us
            and coalesce(ordered.run_key, '') = other_minutes.run
            and coalesce(ordered.host_id, '') = other_minutes.host
),

-- where two overlap the greater use counts; a gap that is none belongs to the later one
cut as (
    select
        *,
        case
            when before_to_us is null or sample_from_us > before_to_us + {{ telemetry_gap_us() }} then sample_from_us
            when sample_from_us < before_to_us and known_ppm > before_ppm then sample_from_us
            else before_to_us
        end as counted_from_us,
        case
            when next_from_us < sample_to_us and next_ppm > known_ppm and coalesce(next_to_us < later_to_us, true)
                then next_from_us
            else sample_to_us
        end as counted_to_us,
        sample_to_us - greatest(sample_from_us, coalesce(before_to_us, sample_from_us)) as observed_us
    from ordered_with_minutes
),

-- copies of a sample are one row
counted as (
    select
        usage_month,
        day_us,
        {{ stated }},
        is_minute,
        {%- for column in single %}
        case when not is_minute then {{ column }} end as single_{{ column }},
        {%- endfor %}
        count(*) as sample_count,
        min(sample_from_us) as first_from_us,
        max(sample_to_us) as last_to_us,
        min(counted_from_us) as minute_from_us,
        max(counted_to_us) as minute_to_us,
        cast(sum(case when is_minute then known_ppm * (counted_to_us - counted_from_us) end) as bigint) as used_ppm_us,
        cast(sum(case when is_minute then observed_us end) as bigint) as observed_us,
        {{ list_of_rows(['sample_from_us', 'sample_to_us', 'utilisation_ppm', 'observed_us']) }} as minute_samples
    from cut
    group by
        usage_month, day_us, {{ stated }}, is_minute, case when is_minute then minute_us end
        {%- for column in single %},
        case when not is_minute then {{ column }} end
        {%- endfor %}
)

select
    usage_month,
    cast({{ timestamp_of('day_us') }} as date) as usage_day,
    {{ stated.replace(', ', ',\n    ') }},
    single_document_hash as document_hash,
    case when is_minute then first_from_us else single_sample_from_us end as sample_from_us,
    last_to_us as sample_to_us,
    case
        when is_minute then cast({{ int_div('used_ppm_us', '(minute_to_us - minute_from_us)') }} as bigint)
        else single_utilisation_ppm
    end as utilisation_ppm,
    sample_count,
    case when is_minute then minute_from_us end as minute_from_us,
    case when is_minute then minute_to_us end as minute_to_us,
    used_ppm_us,
    observed_us,
    case when is_minute then minute_samples end as minute_samples
from counted

union all

-- what a recorder reduced is a minute, or a part of one, as it came: its sum is exact, and it is its own only sample
select
    usage_month,
    cast({{ timestamp_of('day_us') }} as date) as usage_day,
    {{ stated.replace(', ', ',\n    ') }},
    cast(null as string) as document_hash,
    sample_from_us,
    sample_to_us,
    utilisation_ppm,
    count(*) as sample_count,
    sample_from_us as minute_from_us,
    sample_to_us as minute_to_us,
    used_ppm_us,
    cast(sum(observed_us) as bigint) as observed_us,
    {{ list_of_rows(['sample_from_us', 'sample_to_us', 'utilisation_ppm', 'observed_us']) }} as minute_samples
from (
    select
        *,
        -- a copy of it observed nothing more
        case
            when
                row_number() over (
                    partition by usage_month, {{ stated }}, sample_from_us, sample_to_us, used_ppm_us order by document_hash
                ) = 1
                then sample_to_us - sample_from_us
            else 0
        end as observed_us
    from samples
    where used_ppm_us is not null and is_within_day
) as reduced
group by
    usage_month, day_us, {{ stated }}, sample_from_us, sample_to_us, utilisation_ppm, used_ppm_us

{{ config(materialized='by_month', meta={'empty_without': ['int_power_readings']}) }}
{%- set hour_us = 3600000000 %}
{%- set device = 'usage_month, source_kind, meter, host, device_index, hour_us' %}
{%- set in_order = "from_us, to_us, power_uw, coalesce(run_key, '')" %}
{%- set held = 'holdings.training_run_id, holdings.workload, holdings.accelerator_type, holdings.sdk_version' %}
{%- set before = 'partition by ' ~ device ~ ' order by ' ~ in_order ~ ' rows between unbounded preceding and 1 preceding' %}

with run_keys as (
    {{ run_keys() }}
),

run_software as (
    {{ run_software() }}
),

-- what a run trains: runs that name neither a workload nor a model are together one
run_workloads as (
    select
        training_run_id,
        coalesce(
            min_by(workload_key, precedence) filter (where workload_key <> ''),
            min_by(model_name, precedence) filter (where model_name <> ''),
            ''
        ) as workload
    from {{ ref('int_run_records') }}
    group by all
),

months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

-- in the month and hour in which it ends
readings as (
    select
        usage_month,
        case when readings.meter like 'xprof%' then 'xprof' else 'gpu_monitoring' end as source_kind,
        readings.meter,
        coalesce({{ machine_name('readings.host_id') }}, 'run=' || readings.run_key, '') as host,
        readings.device_index,
        readings.sample_to_us - 1 - (readings.sample_to_us - 1) % {{ hour_us }} as hour_us,
        readings.run_key,
        readings.accelerator_type,
        readings.sdk_version,
        readings.is_sampled,
        readings.sample_from_us as from_us,
        readings.sample_to_us as to_us,
        readings.power_uw,
        readings.utilisation_ppm
    from {{ ref('int_power_readings') }} as readings
    inner join months using (usage_month)
    where
        readings.boundary = 'chip'
        and readings.power_uw is not null
        and readings.sample_to_us > months.month_from_us
        and readings.sample_to_us <= months.month_to_us
),

stretches as (
    select
        *,
        -- what an earlier reading covered already is not counted again
        cast(greatest(to_us - greatest(from_us, coalesce(max(to_us) over ({{ before }}), from_us)), 0) as decimal(38, 0))
            as reading_us,
        -- a profile is a window of its own, also where two are taken in one hour
        case when is_sampled and from_us > {{ telemetry_gap_us() }} + max(to_us) over ({{ before }}) then 1 else 0 end as is_new
    from readings
),

numbered as (
    select
        *,
        sum(is_new) over (
            partition by {{ device }} order by {{ in_order }} rows between unbounded preceding and current row
        ) as stretch
    from stretches
),

chips as (
    select
        {{ device }},
        stretch,
        min(accelerator_type) as accelerator_type,
        min(sdk_version) as sdk_version,
        case when count(distinct run_key) = 1 then min(run_key) end as run_key,
        min(from_us) as from_us,
        max(to_us) as to_us,
        cast(sum(reading_us) as decimal(38, 0)) as metered_us,
        cast(sum(cast(power_uw as decimal(19, 0)) * reading_us) as decimal(38, 0)) as metered_uw_us,
        -- known use is known of the whole window
        case
            when count(*) = count(utilisation_ppm)
                then cast(sum(cast(utilisation_ppm as decimal(19, 0)) * reading_us) as decimal(38, 0))
        end as stated_ppm_us
    from numbered
    group by all
    having sum(reading_us) > 0
),

-- of two meters on one chip the one that sees more of it
windows as (
    select
        chips.*,
        unmetered.unmetered_share,
        {{ int_div('chips.metered_uw_us', 'chips.metered_us') }} as mean_uw,
        case when chips.stated_ppm_us is not null then {{ int_div('chips.stated_ppm_us', 'chips.metered_us') }} end as stated_ppm
    from chips
    inner join {{ ref('unmetered_rails') }} as unmetered on chips.meter = unmetered.meter
    qualify dense_rank() over (
        partition by chips.usage_month, chips.source_kind, chips.host, chips.device_index, chips.hour_us
        order by unmetered.unmetered_share, chips.meter
    ) = 1
),

-- what records say of the machine then, or of the run that the readings name; an open end is no evidence of later months
holdings as (
    select
        training_run_id,
        {{ machine_name('holdings.resource_id') }} as machine_name,
        holdings.accelerator_type,
        run_software.sdk_version,
        run_workloads.workload,
        {{ instant_us('holdings.started_at') }} as held_from_us,
        {{ instant_us('holdings.ended_at') }} as held_to_us,
        case
            when holdings.ended_at >= timestamp '9999-01-01 00:00:00' then cast(date_trunc('month', holdings.started_at) as date)
        end as open_month
    from {{ ref('int_run_holdings') }} as holdings
    inner join run_software using (training_run_id)
    inner join run_workloads using (training_run_id)
    where not holdings.is_ambiguous
),

places as (
    select distinct
        windows.usage_month, windows.host, windows.run_key, keys.training_run_id as keyed_run_id, windows.hour_us
    from windows
    left join run_keys as keys on windows.run_key = keys.run_key
),

holders as (
    select places.usage_month, places.host, places.run_key, places.hour_us, {{ held }}
    from places
    inner join holdings on places.keyed_run_id = holdings.training_run_id
    where holdings.held_from_us < places.hour_us + {{ hour_us }} and holdings.held_to_us > places.hour_us

    union all

    select places.usage_month, places.host, places.run_key, places.hour_us, {{ held }}
    from places
    inner join holdings on places.host = holdings.machine_name
    where
        places.keyed_run_id is null
        and holdings.held_from_us < places.hour_us + {{ hour_us }}
        and holdings.held_to_us > places.hour_us
        and coalesce(holdings.open_month = places.usage_month, true)
),

-- two types or two versions in one hour are neither
recorded as (
    select
        usage_month,
        host,
        coalesce(run_key, '') as run_key,
        hour_us,
        min(accelerator_type) as accelerator_type,
        coalesce(min(accelerator_type) <> max(accelerator_type), false) as is_mixed_type,
        min(sdk_version) as sdk_version,
        min(sdk_version) <> max(sdk_version) as is_mixed_software,
        case when min(training_run_id) = max(training_run_id) then min(training_run_id) end as training_run_id,
        case when min(workload) = max(workload) then min(workload) end as workload
    from holders
    group by all
),

-- the use of chips whose profile states none, from the monitor that watched the machine
unstated_hosts as (
    select distinct usage_month, host from windows
    where stated_ppm is null
),

used as (
    select samples.*, unstated_hosts.host
    from {{ ref('int_telemetry_samples') }} as samples
    inner join unstated_hosts
        on samples.usage_month = unstated_hosts.usage_month and {{ machine_name('samples.host_id') }} = unstated_hosts.host
    where not samples.is_filled and samples.utilisation_ppm is not null and {{ in_build_months('samples.usage_month') }}
),

minutes_opened as (
    select *, {{ each_of('minute_samples') }} as one_sample
    from used
    where minute_samples is not null
),

single_samples as (
    select usage_month, host, device_index, is_measured, sample_from_us, sample_to_us, utilisation_ppm
    from used
    where minute_samples is null

    union all

    select
        usage_month, host, device_index, is_measured,
        cast(one_sample.sample_from_us as bigint) as sample_from_us,
        cast(one_sample.sample_to_us as bigint) as sample_to_us,
        cast(one_sample.utilisation_ppm as bigint) as utilisation_ppm
    from minutes_opened
),

samples_with_use as (
    select
        *,
        sample_to_us - 1 - (sample_to_us - 1) % {{ hour_us }} as hour_us,
        sample_from_us - sample_from_us % {{ hour_us }} as first_hour_us
    from single_samples
),

watched as (
    select usage_month, host, device_index, hour_us, is_measured, sample_from_us, sample_to_us, utilisation_ppm
    from samples_with_use

    union all

    select usage_month, host, device_index, first_hour_us as hour_us, is_measured, sample_from_us, sample_to_us, utilisation_ppm
    from samples_with_use
    where first_hour_us < hour_us
),

times_seen as (
    select
        {{ device }},
        windows.stretch,
        watched.is_measured,
        cast(watched.utilisation_ppm as decimal(19, 0)) as used_ppm,
        cast(
            least(watched.sample_to_us, windows.to_us) - greatest(watched.sample_from_us, windows.from_us) as decimal(19, 0)
        ) as overlap_us
    from windows
    inner join watched using (usage_month, host, device_index, hour_us)
    where windows.stated_ppm is null and watched.sample_from_us < windows.to_us and watched.sample_to_us > windows.from_us
),

seen as (
    select
        {{ device }},
        stretch,
        bool_or(is_measured) as is_measured,
        cast(sum(case when is_measured then overlap_us else 0 end) as decimal(38, 0)) as seen_us,
        cast(sum(case when is_measured then used_ppm * overlap_us else 0 end) as decimal(38, 0)) as seen_ppm_us
    from times_seen
    group by all
),

windows_with_use as (
    select
        windows.*,
        coalesce(recorded.accelerator_type, windows.accelerator_type) as window_type,
        coalesce(recorded.is_mixed_type, false) as is_mixed_type,
        coalesce(nullif(recorded.sdk_version, ''), windows.sdk_version, '') as software,
        coalesce(recorded.is_mixed_software, false) as is_mixed_software,
        recorded.training_run_id,
        case when recorded.usage_month is null then '' else recorded.workload end as workload,
        case
            when windows.stated_ppm is not null then windows.stated_ppm
            when seen.seen_us > 0 then {{ int_div('seen.seen_ppm_us', 'seen.seen_us') }}
            -- a chip of which no use is reported while others of its source tell theirs is idle (int_telemetry_samples)
            when not seen.is_measured then 0
        end as used_ppm
    from windows
    left join recorded
        on
            windows.usage_month = recorded.usage_month
            and windows.host = recorded.host
            and coalesce(windows.run_key, '') = recorded.run_key
            and windows.hour_us = recorded.hour_us
    left join seen
        on
            windows.usage_month = seen.usage_month
            and windows.source_kind = seen.source_kind
            and windows.meter = seen.meter
            and windows.host = seen.host
            and windows.device_index = seen.device_index
            and windows.hour_us = seen.hour_us
            and windows.stretch = seen.stretch
)

select
    usage_month,
    window_type as accelerator_type,
    software as sdk_version,
    source_kind,
    meter,
    unmetered_share,
    host,
    training_run_id,
    workload,
    device_index,
    from_us as window_from_us,
    to_us as window_to_us,
    metered_us,
    metered_uw_us,
    mean_uw,
    cast(used_ppm as bigint) as utilisation_ppm,
    case
        when used_ppm is null then 'unknown'
        when used_ppm < 50000 then 'idle'
        when used_ppm >= 900000 then 'busy'
        else 'other'
    end as window_class
from windows_with_use
where window_type is not null and not is_mixed_type and not is_mixed_software

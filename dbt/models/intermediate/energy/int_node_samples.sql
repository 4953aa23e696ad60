{%- set carried = [
    'device_index', 'document_hash', 'is_document', 'is_measured', 'utilisation_ppm', 'is_filled', 'used_ppm_us', 'minute_samples',
    'power_uw', 'power_low_uw', 'power_high_uw', 'driver_ppm', 'driver_low_ppm', 'driver_high_ppm',
] %}
{%- set taken = ['usage_month', 'run_key', 'host_id', 'sample_from_us', 'sample_to_us'] + carried %}
{%- set device = 'usage_month, usage_day, resource_id, device_id' %}
{%- set kept = [
    'usage_month', 'usage_day', 'resource_id', 'device_id', 'keyed_run_id', 'is_filled', 'is_measured', 'used_ppm_us', 'power_uw',
    'power_low_uw', 'power_high_uw', 'driver_ppm', 'driver_low_ppm', 'driver_high_ppm', 'sample_from_us', 'sample_to_us',
    'utilisation_ppm',
] %}
{{ config(materialized='by_month', meta={'empty_without': ['int_telemetry_samples'], 'by_day': 'usage_day'}) }}

with days as (
    select distinct usage_month, usage_day as reached_day, day_from_us, day_to_us
    from {{ ref('int_telemetry_days') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
),

-- of a day all that lies in it, or within half a second of it: that shows that there is no gap at midnight
samples as (
    select usage_day as reached_day, {{ taken | join(', ') }}
    from {{ ref('int_telemetry_samples') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}

    union all

    select days.reached_day, samples.{{ taken | join(', samples.') }}
    from {{ ref('int_telemetry_samples') }} as samples
    inner join days using (usage_month)
    where
        samples.is_at_midnight
        and samples.usage_day <> days.reached_day
        and samples.sample_from_us < days.day_to_us + {{ telemetry_gap_us() }}
        and samples.sample_to_us > days.day_from_us - {{ telemetry_gap_us() }}
),

samples_of_nodes as (
    select
        places.usage_month,
        places.usage_day,
        places.resource_id,
        places.host_name,
        places.keyed_run_id,
        places.machine_count,
        places.taken_from_us,
        places.taken_to_us,
        samples.sample_from_us as stated_from_us,
        samples.sample_to_us as stated_to_us,
        greatest(samples.sample_from_us, places.day_from_us - {{ telemetry_gap_us() }}) as sample_from_us,
        least(samples.sample_to_us, places.day_to_us + {{ telemetry_gap_us() }}) as sample_to_us
        {%- for name in carried %},
        samples.{{ name }}
        {%- endfor %}
    from samples
    inner join {{ ref('int_telemetry_places') }} as places
        on
            samples.usage_month = places.usage_month
            and samples.reached_day = places.usage_day
            and coalesce(samples.run_key, '') = places.run
            and coalesce(samples.host_id, '') = places.host
    where
        places.taken_from_us is null
        or (samples.sample_from_us < places.taken_to_us and samples.sample_to_us > places.taken_from_us)
),

-- a managed job names no machines: several documents of one interval are several machines, and one document counts once.
-- Of a single machine they are two views, and the greater use counts.
samples_by_machine as (
    select
        *,
        case
            when machine_count > 1 and is_document then dense_rank() over (
                partition by usage_month, usage_day, resource_id, host_name, device_index, stated_from_us, stated_to_us
                order by document_hash
            )
            else 1
        end as machine_number
    from samples_of_nodes
),

placed as (
    select
        *,
        host_name || '|' || cast(machine_number as string) as host_key,
        host_name || '|' || cast(machine_number as string) || '|' || cast(device_index as string) as device_id
    from samples_by_machine
),

-- machines of which some time is not simply that of all their chips: several holders, chips that are free beside a run
hosts as (
    select
        usage_month,
        usage_day,
        resource_id,
        host_key,
        count(distinct device_id) as device_count,
        greatest(
            count(distinct case when is_measured then device_id end), count(distinct case when not is_measured then device_id end)
        ) as chips
    from placed
    group by all
),

devices_of_nodes as (
    select
        usage_month,
        usage_day,
        resource_id,
        sum(device_count) as device_count,
        bool_and(host_key = resource_id || '|1' or device_count <= chips) as is_of_hosts
    from hosts
    group by all
),

times as (
    select *, true as is_time from {{ ref('int_node_times') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
),

plain_nodes as (
    select usage_month, usage_day, resource_id
    from devices_of_nodes as devices
    left join times using (usage_month, usage_day, resource_id)
    group by all
    having
        bool_and(coalesce(
            -- a day on which nobody held it and no bill names it has no time to divide
            times.is_time is null
            or (
                devices.is_of_hosts
                and not times.is_tpu
                and (times.holder_count <= 1 or times.is_oversubscribed)
                and devices.device_count <= case when times.held_chips = 0 then times.node_chips else times.held_chips end
            ),
            false
        ))
),

-- readings of power without a gap between them are one time: where it begins or ends within a minute, that has two parts
power_times as (
    select
        {{ device }},
        sample_from_us,
        greatest(sample_to_us, coalesce(reached_us, sample_to_us)) as sample_to_us,
        coalesce(sample_from_us > reached_us, true) as is_first,
        next_from_us
    from (
        select
            {{ device }},
            sample_from_us,
            sample_to_us,
            max(sample_to_us) over (
                partition by {{ device }}, keyed_run_id
                order by sample_from_us, sample_to_us rows between unbounded preceding and 1 preceding
            ) as reached_us,
            lead(sample_from_us) over (
                partition by {{ device }}, keyed_run_id order by sample_from_us, sample_to_us
            ) as next_from_us
        from placed
        where {{ is_power_alone() }}
    ) as readings
),

minutes as (
    select * from placed
    where minute_samples is not null
),

devices as (
    select distinct {{ device }} from minutes
),

edges as (
    select usage_month, usage_day, resource_id, span_from_us as cut_us from times
    union
    select usage_month, usage_day, resource_id, span_to_us as cut_us from times
),

cuts as (
    select {{ device }}, sample_from_us as cut_us from power_times
    where is_first
    union all
    select {{ device }}, sample_to_us as cut_us from power_times
    where coalesce(next_from_us > sample_to_us, true)
    union all
    select {{ device }}, edges.cut_us
    from devices
    inner join edges using (usage_month, usage_day, resource_id)
    union all
    select {{ device }}, taken_from_us as cut_us from minutes
    union all
    select {{ device }}, taken_to_us as cut_us from minutes
),

next_cuts as (
    select
        *,
        min(cut_us) over (partition by {{ device }} order by sample_from_us range between 1 following and unbounded following)
            as next_cut_us
    from (
        select {{ device }}, sample_from_us, cast(null as bigint) as cut_us from minutes
        union
        select {{ device }}, cut_us as sample_from_us, cut_us from cuts
        where cut_us is not null
    ) as instants
),

neighbours as (
    select
        {{ device }},
        sample_from_us,
        sample_to_us,
        minute_samples is not null as is_minute,
        max(sample_to_us) over (
            partition by {{ device }} order by sample_from_us, sample_to_us rows between unbounded preceding and 1 preceding
        ) as reached_us,
        lead(sample_from_us) over (partition by {{ device }} order by sample_from_us, sample_to_us) as next_from_us
    from placed
    where not {{ is_power_alone() }}
),

-- one sample as long as nothing cuts it and no other sample of use meets it, even within the half second that is no gap
whole_minutes as (
    select {{ device }}, sample_from_us, true as is_whole
    from neighbours
    inner join plain_nodes using (usage_month, usage_day, resource_id)
    inner join next_cuts using ({{ device }}, sample_from_us)
    where
        neighbours.is_minute
        and next_cuts.cut_us is null
        and coalesce(next_cuts.next_cut_us >= neighbours.sample_to_us, true)
        and coalesce(
            neighbours.reached_us = sample_from_us or neighbours.reached_us < sample_from_us - {{ telemetry_gap_us() }}, true
        )
        and coalesce(
            neighbours.next_from_us = neighbours.sample_to_us
            or neighbours.next_from_us > neighbours.sample_to_us + {{ telemetry_gap_us() }}, true
        )
),

placed_minutes as (
    select minutes.*, coalesce(whole_minutes.is_whole, false) as is_whole
    from minutes
    left join whole_minutes using ({{ device }}, sample_from_us)
),

-- its samples do not reach into its neighbours: what two have in common was counted with one of them (int_device_minutes)
opened as (
    select *, {{ each_of('minute_samples') }} as one_sample
    from placed_minutes
    where not is_whole
),

kept as (
    select {{ kept | join(', ') }} from placed
    where minute_samples is null

    union all

    select {{ kept | join(', ') }} from placed_minutes
    where is_whole

    union all

    select
        {%- for name in kept[:7] %}
        {{ name }},
        {%- endfor %}
        cast(null as bigint) as used_ppm_us,
        {%- for name in kept[8:14] %}
        {{ name }},
        {%- endfor %}
        greatest(one_sample.sample_from_us, sample_from_us) as sample_from_us,
        least(one_sample.sample_to_us, sample_to_us) as sample_to_us,
        one_sample.utilisation_ppm
    from opened
    where
        taken_from_us is null
        or (one_sample.sample_from_us < taken_to_us and one_sample.sample_to_us > taken_from_us)
)

select
    usage_month,
    usage_day,
    resource_id,
    device_id,
    keyed_run_id,
    sample_from_us,
    sample_to_us,
    is_filled,
    bool_or(is_measured) as is_measured,
    bool_or(not is_measured) as is_present,
    {{ use_together() }} as utilisation_ppm,
    max(used_ppm_us) as used_ppm_us,
    {{ greatest_readings() }}
from kept
group by all

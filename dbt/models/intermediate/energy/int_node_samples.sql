{%- set sample_columns %}
        samples.usage_month, nodes.resource_id, samples.keyed_run_id, samples.device_index,
        samples.document_hash, samples.is_document, samples.is_measured,
        samples.sample_from_us, samples.sample_to_us, samples.utilisation_ppm, samples.is_filled,
        samples.used_ppm_us, samples.minute_samples,
        samples.power_uw, samples.power_low_uw, samples.power_high_uw, samples.driver_ppm, samples.driver_low_ppm, samples.driver_high_ppm
{%- endset %}
{%- set device = 'usage_month, resource_id, device_id' %}
{%- set kept = [
    'usage_month', 'resource_id', 'device_id', 'keyed_run_id', 'is_filled', 'is_measured', 'used_ppm_us', 'power_uw', 'power_low_uw',
    'power_high_uw', 'driver_ppm', 'driver_low_ppm', 'driver_high_ppm', 'sample_from_us', 'sample_to_us', 'utilisation_ppm',
] %}
{{ config(materialized='by_month', meta={'empty_without': ['int_telemetry_samples']}) }}

-- a name counts as a run's in the months in which that run was there
with keys_of_month as (
    {{ run_keys_of_month() }}
),

held_nodes as (
    select
        usage_month,
        training_run_id,
        resource_id,
        {{ machine_name('resource_id') }} as machine_name,
        min(span_from_us) as held_from_us,
        max(span_to_us) as held_to_us
    from {{ ref('int_node_spans') }}
    where not is_ambiguous and {{ in_build_months() }}
    group by all
),

nodes as (
    select distinct usage_month, resource_id, {{ machine_name('resource_id') }} as machine_name
    from {{ ref('int_node_spans') }}
    where {{ in_build_months() }}
),

samples as (
    select
        samples.*,
        -- telemetry may name a machine with its path or without
        {{ machine_name('samples.host_id') }} as machine_name,
        keys_of_month.training_run_id as keyed_run_id
    from {{ ref('int_telemetry_samples') }} as samples
    left join keys_of_month using (usage_month, run_key)
    where {{ in_build_months('samples.usage_month') }}
),

known_hosts as (
    select distinct usage_month, machine_name, true as is_known from samples
),

-- resources of a run that no sample names
nodes_without_samples as (
    select held_nodes.*
    from held_nodes
    left join known_hosts using (usage_month, machine_name)
    where known_hosts.is_known is null
),

-- of those it held at one time the first; a job that was submitted again has its own
first_nodes_without_samples as (
    select nodes.*
    from nodes_without_samples as nodes
    left join nodes_without_samples as others
        on
            nodes.usage_month = others.usage_month
            and nodes.training_run_id = others.training_run_id
            and nodes.resource_id > others.resource_id
            and nodes.held_from_us < others.held_to_us
            and nodes.held_to_us > others.held_from_us
    where others.resource_id is null
),

samples_of_nodes as (
    select
        {{ sample_columns }},
        nodes.resource_id as host_id,
        cast(null as bigint) as taken_from_us,
        cast(null as bigint) as taken_to_us
    from nodes
    inner join samples using (usage_month, machine_name)

    union all

    select
        {{ sample_columns }},
        samples.host_id,
        nodes.held_from_us - {{ telemetry_gap_us() }} as taken_from_us,
        nodes.held_to_us + {{ telemetry_gap_us() }} as taken_to_us
    from first_nodes_without_samples as nodes
    -- samples half a second outside are taken too: they show that there is no gap at the run's start or end
    inner join samples
        on
            nodes.usage_month = samples.usage_month
            and nodes.training_run_id = samples.keyed_run_id
            and samples.sample_from_us < nodes.held_to_us + {{ telemetry_gap_us() }}
            and samples.sample_to_us > nodes.held_from_us - {{ telemetry_gap_us() }}
    left join held_nodes as named_nodes
        on
            samples.usage_month = named_nodes.usage_month
            and samples.keyed_run_id = named_nodes.training_run_id
            and samples.machine_name = named_nodes.machine_name
    where named_nodes.resource_id is null
),

-- a managed job names no machines: several documents of one interval are several machines, and one document counts once.
-- Of a single machine they are two views, and the greater use counts.
machines as (
    select usage_month, resource_id, max(node_count) as machine_count
    from {{ ref('int_machine_holdings') }}
    group by all
),

samples_by_machine as (
    select
        samples.*,
        case
            when machines.machine_count > 1 and samples.is_document then dense_rank() over (
                partition by
                    samples.usage_month, samples.resource_id, samples.host_id, samples.device_index,
                    samples.sample_from_us, samples.sample_to_us
                order by samples.document_hash
            )
            else 1
        end as machine_number
    from samples_of_nodes as samples
    left join machines using (usage_month, resource_id)
),

placed as (
    select
        *,
        coalesce(host_id, '') || '|' || cast(machine_number as string) as host_key,
        coalesce(host_id, '') || '|' || cast(machine_number as string) || '|' || cast(device_index as string) as device_id
    from samples_by_machine
),

-- machines of which some time is not simply that of all their chips: several holders, chips that are free beside a run
hosts as (
    select
        usage_month,
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
        resource_id,
        sum(device_count) as device_count,
        bool_and(host_key = resource_id || '|1' or device_count <= chips) as is_of_hosts
    from hosts
    group by all
),

plain_nodes as (
    select usage_month, resource_id
    from devices_of_nodes as devices
    inner join {{ ref('int_node_times') }} as times using (usage_month, resource_id)
    group by all
    having
        bool_and(coalesce(
            devices.is_of_hosts
            and not times.is_tpu
            and (times.holder_count <= 1 or times.is_oversubscribed)
            and devices.device_count <= case when times.held_chips = 0 then times.node_chips else times.held_chips end,
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
    select usage_month, resource_id, span_from_us as cut_us from {{ ref('int_node_times') }}
    union
    select usage_month, resource_id, span_to_us as cut_us from {{ ref('int_node_times') }}
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
    inner join edges using (usage_month, resource_id)
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
    inner join plain_nodes using (usage_month, resource_id)
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
        {%- for name in kept[:6] %}
        {{ name }},
        {%- endfor %}
        cast(null as bigint) as used_ppm_us,
        {%- for name in kept[7:13] %}
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

-- Chip time of each run, node and month: reserved, seen, and how much of the seen was use. All in chip-microseconds, to be multiplied by
-- share_numerator / share_denominator: 1 where the run's own chips are known one by one, its chips over the node's chips where they are not.
{%- set span = ['usage_month', 'training_run_id', 'resource_id', 'span_from_us'] %}
with spans as (
    select
        spans.*,
        spans.span_to_us - spans.span_from_us as span_us,
        coalesce(types.accelerator_family = 'tpu', false) as is_tpu
    from {{ ref('int_node_spans') }} as spans
    left join {{ ref('accelerator_types') }} as types on spans.accelerator_type = types.accelerator_type
    where not spans.is_ambiguous
),

-- whether a run's telemetry is its own is asked where it shares the node: samples of another time say nothing about now
keyed as (
    select distinct spans.usage_month, spans.training_run_id, spans.resource_id, spans.span_from_us
    from spans
    inner join {{ ref('int_run_samples') }} as samples
        on
            spans.usage_month = samples.usage_month
            and spans.training_run_id = samples.training_run_id
            and spans.resource_id = samples.resource_id
            and samples.sample_from_us < spans.span_to_us
            and samples.sample_to_us > spans.span_from_us
    where spans.holder_count > 1 and samples.is_keyed
),

shares as (
    select
        spans.*,
        -- several runs on a node whose samples nobody keyed, or more chips promised than the node has: everybody has his part of the whole node
        spans.span_chips > spans.node_chips or (spans.holder_count > 1 and keyed.span_from_us is null) as is_shared
    from spans
    left join keyed
        on
            spans.usage_month = keyed.usage_month
            and spans.training_run_id = keyed.training_run_id
            and spans.resource_id = keyed.resource_id
            and spans.span_from_us = keyed.span_from_us
),

weighed as (
    select
        *,
        case when is_shared then node_chips else run_chips end as counted_chips,
        case when is_shared then run_chips else 1 end as share_numerator,
        case when is_shared then greatest(node_chips, span_chips) else 1 end as share_denominator
    from shares
),

-- the machines telemetry speaks of. One whose name is not the node's is one of several, of a slice or a job: it says nothing about the others, and
-- has the chips of its type, or as many as were ever seen on it
hosts as (
    select
        usage_month,
        training_run_id,
        resource_id,
        {{ replace_all('device_id', '[|][0-9]+$', '') }} as host_key,
        count(distinct case when is_present then device_id end) as present_chips,
        count(distinct case when is_measured then device_id end) as measured_chips
    from {{ ref('int_run_samples') }}
    group by usage_month, training_run_id, resource_id, {{ replace_all('device_id', '[|][0-9]+$', '') }}
),

machines as (
    select
        hosts.*,
        case
            when hosts.host_key <> hosts.resource_id || '|1'
                then greatest(coalesce(max(spans.machine_chips), 0), max(hosts.present_chips), max(hosts.measured_chips))
            else max(greatest(coalesce(spans.node_chips, 0), coalesce(spans.span_chips, 0)))
        end as host_chips
    from hosts
    inner join spans
        on
            hosts.usage_month = spans.usage_month
            and hosts.training_run_id = spans.training_run_id
            and hosts.resource_id = spans.resource_id
    group by
        hosts.usage_month, hosts.training_run_id, hosts.resource_id, hosts.host_key, hosts.present_chips, hosts.measured_chips
),

cut as (
    select
        spans.usage_month,
        spans.training_run_id,
        spans.resource_id,
        spans.span_from_us,
        spans.counted_chips,
        devices.device_id,
        devices.is_measured,
        devices.utilisation_ppm,
        greatest(devices.observed_from_us, spans.span_from_us) as seen_from_us,
        least(devices.observed_to_us, spans.span_to_us) as seen_to_us,
        least(devices.observed_to_us, spans.span_to_us) - greatest(devices.observed_from_us, spans.span_from_us) as seen_us
    from weighed as spans
    inner join {{ ref('int_run_device_spans') }} as devices
        on
            spans.usage_month = devices.usage_month
            and spans.training_run_id = devices.training_run_id
            and spans.resource_id = devices.resource_id
            and devices.observed_from_us < spans.span_to_us
            and devices.observed_to_us > spans.span_from_us
),

device_time as (
    select
        usage_month,
        training_run_id,
        resource_id,
        span_from_us,
        device_id,
        sum(case when utilisation_ppm is not null then cast(seen_us as decimal(19, 0)) else 0 end) as known_us,
        sum(cast(seen_us as decimal(19, 0))) as seen_us,
        sum(cast(coalesce(utilisation_ppm, 0) as decimal(19, 0)) * cast(seen_us as decimal(18, 0))) as used_ppm_us
    from cut
    group by usage_month, training_run_id, resource_id, span_from_us, device_id
),

-- more devices seen than chips held: the run holds part of the node, its job moved to other machines, or chips were numbered anew
crowded as (
    select usage_month, training_run_id, resource_id
    from cut
    group by usage_month, training_run_id, resource_id
    having count(distinct device_id) > min(counted_chips)

    union

    select cut.usage_month, cut.training_run_id, cut.resource_id
    from cut
    inner join machines
        on
            cut.usage_month = machines.usage_month
            and cut.training_run_id = machines.training_run_id
            and cut.resource_id = machines.resource_id
            and {{ replace_all('cut.device_id', '[|][0-9]+$', '') }} = machines.host_key
    group by cut.usage_month, cut.training_run_id, cut.resource_id, machines.host_key
    having count(distinct cut.device_id) > max(machines.host_chips)
),

-- the chips of a run that holds part of a node are those it used most in the month, so that cutting its record in two changes nothing
ranked as (
    select
        usage_month,
        training_run_id,
        resource_id,
        device_id,
        row_number() over (
            partition by usage_month, training_run_id, resource_id
            order by sum(used_ppm_us) desc, sum(known_us) desc, device_id
        ) as device_rank
    from device_time
    group by usage_month, training_run_id, resource_id, device_id
),

-- when any chip of a machine was seen, the machine was alive: a TPU of it without a point was idle then
placed as (
    select *, {{ replace_all('device_id', '[|][0-9]+$', '') }} as host_key
    from {{ ref('int_run_device_spans') }}
),

reached as (
    select
        placed.*,
        machines.host_chips,
        max(placed.observed_to_us) over (
            partition by placed.usage_month, placed.training_run_id, placed.resource_id, placed.host_key
            order by placed.observed_from_us, placed.observed_to_us rows between unbounded preceding and 1 preceding
        ) as reached_us
    from placed
    inner join machines
        on
            placed.usage_month = machines.usage_month
            and placed.training_run_id = machines.training_run_id
            and placed.resource_id = machines.resource_id
            and placed.host_key = machines.host_key
),

lives as (
    select
        spans.usage_month,
        spans.training_run_id,
        spans.resource_id,
        spans.span_from_us,
        spans.counted_chips,
        reached.host_chips,
        greatest(reached.observed_from_us, coalesce(reached.reached_us, reached.observed_from_us), spans.span_from_us) as live_from_us,
        least(reached.observed_to_us, spans.span_to_us) as live_to_us
    from weighed as spans
    inner join reached
        on
            spans.usage_month = reached.usage_month
            and spans.training_run_id = reached.training_run_id
            and spans.resource_id = reached.resource_id
            and reached.observed_from_us < spans.span_to_us
            and reached.observed_to_us > spans.span_from_us
    where spans.is_tpu
),

life_changes as (
    select {{ span | join(', ') }}, counted_chips, at_us, sum(chips) as chips
    from (
        select *, live_from_us as at_us, host_chips as chips from lives where live_from_us < live_to_us
        union all
        select *, live_to_us as at_us, -host_chips as chips from lives where live_from_us < live_to_us
    ) as changes
    group by {{ span | join(', ') }}, counted_chips, at_us
),

live_chips as (
    select
        *,
        sum(chips) over (partition by {{ span | join(', ') }} order by at_us rows between unbounded preceding and current row) as chips_alive,
        lead(at_us) over (partition by {{ span | join(', ') }} order by at_us) as until_us
    from life_changes
),

live_time as (
    select {{ span | join(', ') }}, sum(cast(least(chips_alive, counted_chips) as decimal(19, 0)) * cast(until_us - at_us as decimal(18, 0))) as live_chip_us
    from live_chips
    where until_us is not null
    group by {{ span | join(', ') }}
),

-- there, as many devices as chips are held count at any one time: what measured goes before what only lived, then the most used of the month.
-- A bucket is as long as the longest piece, so a piece lies in two at most and a slice meets only its neighbours
choosing as (
    select
        cut.*,
        machines.host_key,
        machines.host_chips,
        ranked.device_rank,
        max(cut.seen_to_us - cut.seen_from_us) over (
            partition by cut.{{ span | join(', cut.') }}
        ) as bucket_us
    from cut
    inner join crowded
        on
            cut.usage_month = crowded.usage_month
            and cut.training_run_id = crowded.training_run_id
            and cut.resource_id = crowded.resource_id
    inner join ranked
        on
            cut.usage_month = ranked.usage_month
            and cut.training_run_id = ranked.training_run_id
            and cut.resource_id = ranked.resource_id
            and cut.device_id = ranked.device_id
    inner join machines
        on
            cut.usage_month = machines.usage_month
            and cut.training_run_id = machines.training_run_id
            and cut.resource_id = machines.resource_id
            and {{ replace_all('cut.device_id', '[|][0-9]+$', '') }} = machines.host_key
),

bucketed as (
    select *, seen_from_us - seen_from_us % bucket_us as bucket from choosing
    union all
    select *, (seen_to_us - 1) - (seen_to_us - 1) % bucket_us as bucket from choosing
    where (seen_to_us - 1) - (seen_to_us - 1) % bucket_us > seen_from_us - seen_from_us % bucket_us
),

instants as (
    select {{ span | join(', ') }}, bucket_us, seen_from_us as instant_us from choosing
    union
    select {{ span | join(', ') }}, bucket_us, seen_to_us as instant_us from choosing
),

slices as (
    select
        {{ span | join(', ') }},
        instant_us as slice_from_us,
        instant_us - instant_us % bucket_us as bucket,
        lead(instant_us) over (partition by {{ span | join(', ') }} order by instant_us) as slice_to_us
    from instants
),

of_host as (
    select
        slices.*,
        bucketed.counted_chips,
        bucketed.host_chips,
        bucketed.utilisation_ppm,
        case when bucketed.is_measured then 0 else 1 end as evidence_rank,
        bucketed.device_rank,
        row_number() over (
            partition by slices.{{ span | join(', slices.') }}, slices.slice_from_us, bucketed.host_key
            order by case when bucketed.is_measured then 0 else 1 end, bucketed.device_rank
        ) as place_on_host
    from slices
    inner join bucketed
        on
            slices.usage_month = bucketed.usage_month
            and slices.training_run_id = bucketed.training_run_id
            and slices.resource_id = bucketed.resource_id
            and slices.span_from_us = bucketed.span_from_us
            and slices.bucket = bucketed.bucket
            and bucketed.seen_from_us <= slices.slice_from_us
            and bucketed.seen_to_us >= slices.slice_to_us
    where slices.slice_to_us is not null
),

chosen as (
    select
        *,
        row_number() over (partition by {{ span | join(', ') }}, slice_from_us order by evidence_rank, device_rank) as place
    from of_host
    where place_on_host <= host_chips
),

counting as (
    select
        device_time.{{ span | join(', device_time.') }},
        device_time.known_us,
        device_time.seen_us,
        device_time.used_ppm_us
    from device_time
    left join crowded
        on
            device_time.usage_month = crowded.usage_month
            and device_time.training_run_id = crowded.training_run_id
            and device_time.resource_id = crowded.resource_id
    where crowded.resource_id is null

    union all

    select
        {{ span | join(', ') }},
        case when utilisation_ppm is not null then cast(slice_to_us - slice_from_us as decimal(19, 0)) else 0 end as known_us,
        cast(slice_to_us - slice_from_us as decimal(19, 0)) as seen_us,
        cast(coalesce(utilisation_ppm, 0) as decimal(19, 0)) * cast(slice_to_us - slice_from_us as decimal(18, 0)) as used_ppm_us
    from chosen
    where place <= counted_chips
),

counted as (
    select
        {{ span | join(', ') }},
        sum(known_us) as known_us,
        sum(seen_us) as seen_us,
        sum(used_ppm_us) as used_ppm_us
    from counting
    group by {{ span | join(', ') }}
)

select
    spans.usage_month,
    spans.training_run_id,
    spans.resource_id,
    spans.accelerator_type,
    spans.share_numerator,
    spans.share_denominator,
    bool_and(spans.run_chips is not null) as is_chips_known,
    cast(sum(cast(coalesce(spans.counted_chips, 0) as decimal(19, 0)) * cast(spans.span_us as decimal(18, 0))) as decimal(38, 0)) as reserved_us,
    cast(sum(case
        when spans.counted_chips is null then 0
        when spans.is_tpu
            then coalesce(counted.known_us, 0)
                + greatest(coalesce(live_time.live_chip_us, 0) - coalesce(counted.seen_us, 0), 0)
        else coalesce(counted.known_us, 0)
    end) as decimal(38, 0)) as observed_us,
    cast(sum(case when spans.counted_chips is null then 0 else coalesce(counted.used_ppm_us, 0) end) as decimal(38, 0)) as used_ppm_us
from weighed as spans
left join counted
    on
        spans.usage_month = counted.usage_month
        and spans.training_run_id = counted.training_run_id
        and spans.resource_id = counted.resource_id
        and spans.span_from_us = counted.span_from_us
left join live_time
    on
        spans.usage_month = live_time.usage_month
        and spans.training_run_id = live_time.training_run_id
        and spans.resource_id = live_time.resource_id
        and spans.span_from_us = live_time.span_from_us
group by
    spans.usage_month,
    spans.training_run_id,
    spans.resource_id,
    spans.accelerator_type,
    spans.share_numerator,
    spans.share_denominator

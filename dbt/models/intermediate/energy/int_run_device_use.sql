{%- set span = ['usage_month', 'training_run_id', 'resource_id', 'span_from_us'] %}
with pieces as (
    select
        spans.usage_month,
        spans.training_run_id,
        spans.resource_id,
        spans.span_from_us,
        spans.counted_chips,
        devices.device_id,
        {{ host_of_device('devices.device_id') }} as host_key,
        devices.is_measured,
        devices.utilisation_ppm,
        greatest(devices.observed_from_us, spans.span_from_us) as seen_from_us,
        least(devices.observed_to_us, spans.span_to_us) as seen_to_us,
        least(devices.observed_to_us, spans.span_to_us) - greatest(devices.observed_from_us, spans.span_from_us) as seen_us
    from {{ ref('int_run_node_shares') }} as spans
    inner join {{ ref('int_run_device_spans') }} as devices using (usage_month, training_run_id, resource_id)
    where devices.observed_from_us < spans.span_to_us and devices.observed_to_us > spans.span_from_us
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
    from pieces
    group by usage_month, training_run_id, resource_id, span_from_us, device_id
),

-- more devices seen than chips held: the run holds part of the node, its job moved to other machines, or chips were numbered anew
crowded_nodes as (
    select usage_month, training_run_id, resource_id
    from pieces
    group by usage_month, training_run_id, resource_id
    having count(distinct device_id) > min(counted_chips)

    union

    select pieces.usage_month, pieces.training_run_id, pieces.resource_id
    from pieces
    inner join {{ ref('int_run_machines') }} as machines using (usage_month, training_run_id, resource_id, host_key)
    group by pieces.usage_month, pieces.training_run_id, pieces.resource_id, machines.host_key
    having count(distinct pieces.device_id) > max(machines.host_chips)
),

-- the chips of a run that holds part of a node are those it used most in the month, so that cutting its record in two
-- changes nothing
ranked_devices as (
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

-- a bucket is as long as the longest piece, so a piece lies in two at most and a slice meets only its neighbours
crowded_pieces as (
    select
        pieces.*,
        machines.host_chips,
        ranked_devices.device_rank,
        max(pieces.seen_to_us - pieces.seen_from_us) over (
            partition by pieces.{{ span | join(', pieces.') }}
        ) as bucket_us
    from pieces
    inner join crowded_nodes using (usage_month, training_run_id, resource_id)
    inner join ranked_devices using (usage_month, training_run_id, resource_id, device_id)
    inner join {{ ref('int_run_machines') }} as machines using (usage_month, training_run_id, resource_id, host_key)
),

bucketed_pieces as (
    select *, seen_from_us - seen_from_us % bucket_us as bucket from crowded_pieces
    union all
    select *, (seen_to_us - 1) - (seen_to_us - 1) % bucket_us as bucket from crowded_pieces
    where (seen_to_us - 1) - (seen_to_us - 1) % bucket_us > seen_from_us - seen_from_us % bucket_us
),

instants as (
    select {{ span | join(', ') }}, bucket_us, seen_from_us as instant_us from crowded_pieces
    union
    select {{ span | join(', ') }}, bucket_us, seen_to_us as instant_us from crowded_pieces
),

slices as (
    select
        {{ span | join(', ') }},
        instant_us as slice_from_us,
        instant_us - instant_us % bucket_us as bucket,
        lead(instant_us) over (partition by {{ span | join(', ') }} order by instant_us) as slice_to_us
    from instants
),

slice_devices as (
    select
        slices.*,
        bucketed_pieces.counted_chips,
        bucketed_pieces.host_chips,
        bucketed_pieces.utilisation_ppm,
        case when bucketed_pieces.is_measured then 0 else 1 end as evidence_rank,
        bucketed_pieces.device_rank,
        row_number() over (
            partition by slices.{{ span | join(', slices.') }}, slices.slice_from_us, bucketed_pieces.host_key
            order by case when bucketed_pieces.is_measured then 0 else 1 end, bucketed_pieces.device_rank
        ) as place_on_host
    from slices
    inner join bucketed_pieces using ({{ span | join(', ') }}, bucket)
    where
        slices.slice_to_us is not null
        and bucketed_pieces.seen_from_us <= slices.slice_from_us
        and bucketed_pieces.seen_to_us >= slices.slice_to_us
),

chosen_slice_devices as (
    select
        *,
        row_number() over (partition by {{ span | join(', ') }}, slice_from_us order by evidence_rank, device_rank) as place
    from slice_devices
    where place_on_host <= host_chips
),

counted_use as (
    select
        device_time.{{ span | join(', device_time.') }},
        device_time.known_us,
        device_time.seen_us,
        device_time.used_ppm_us
    from device_time
    left join crowded_nodes using (usage_month, training_run_id, resource_id)
    where crowded_nodes.resource_id is null

    union all

    select
        {{ span | join(', ') }},
        case when utilisation_ppm is not null then cast(slice_to_us - slice_from_us as decimal(19, 0)) else 0 end as known_us,
        cast(slice_to_us - slice_from_us as decimal(19, 0)) as seen_us,
        cast(coalesce(utilisation_ppm, 0) as decimal(19, 0)) * cast(slice_to_us - slice_from_us as decimal(18, 0)) as used_ppm_us
    from chosen_slice_devices
    where place <= counted_chips
)

select
    {{ span | join(', ') }},
    sum(known_us) as known_us,
    sum(seen_us) as seen_us,
    sum(used_ppm_us) as used_ppm_us
from counted_use
group by {{ span | join(', ') }}

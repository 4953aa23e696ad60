{%- set node = 'usage_month, training_run_id, resource_id' %}
{%- set span = node ~ ', span_from_us' %}
with pieces as (
    select
        {{ node }},
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
    inner join {{ ref('int_run_device_spans') }} as devices using ({{ node }})
    where devices.observed_from_us < spans.span_to_us and devices.observed_to_us > spans.span_from_us
),

device_time as (
    select
        {{ span }},
        device_id,
        sum(case when utilisation_ppm is not null then cast(seen_us as decimal(19, 0)) else 0 end) as known_us,
        sum(cast(seen_us as decimal(19, 0))) as seen_us,
        sum(cast(coalesce(utilisation_ppm, 0) as decimal(19, 0)) * cast(seen_us as decimal(18, 0))) as used_ppm_us
    from pieces
    group by all
),

-- more devices seen than chips held: the run holds part of the node, its job moved to other machines, or chips were numbered anew
crowded_nodes as (
    select {{ node }} from pieces
    group by all
    having count(distinct device_id) > min(counted_chips)

    union

    select {{ node }}
    from pieces
    inner join {{ ref('int_run_machines') }} as machines using ({{ node }}, host_key)
    group by {{ node }}, host_key
    having count(distinct pieces.device_id) > max(machines.host_chips)
),

-- the chips of a run that holds part of a node are those it used most in the month, so that cutting its record in two
-- changes nothing
ranked_devices as (
    select
        {{ node }},
        device_id,
        row_number() over (partition by {{ node }} order by sum(used_ppm_us) desc, sum(known_us) desc, device_id) as device_rank
    from device_time
    group by {{ node }}, device_id
),

crowded_pieces as (
    select
        pieces.*,
        machines.host_chips,
        ranked_devices.device_rank,
        max(pieces.seen_to_us - pieces.seen_from_us) over (partition by {{ node }}, pieces.span_from_us) as bucket_us
    from pieces
    inner join crowded_nodes using ({{ node }})
    inner join ranked_devices using ({{ node }}, device_id)
    inner join {{ ref('int_run_machines') }} as machines using ({{ node }}, host_key)
),

bucketed_pieces as (
    {{ bucketed('crowded_pieces', 'seen_from_us', 'seen_to_us') }}
),

slices as (
    {{ slices('crowded_pieces', span ~ ', bucket_us', 'seen_from_us', 'seen_to_us') }}
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
            partition by {{ span }}, slices.slice_from, bucketed_pieces.host_key
            order by case when bucketed_pieces.is_measured then 0 else 1 end, bucketed_pieces.device_rank
        ) as place_on_host
    from slices
    inner join bucketed_pieces using ({{ span }}, bucket_us)
    where
        {{ bucket_of('slices.slice_from') }} = bucketed_pieces.bucket
        and bucketed_pieces.seen_from_us <= slices.slice_from
        and bucketed_pieces.seen_to_us >= slices.slice_to
),

chosen_slice_devices as (
    select
        *,
        slice_to - slice_from as slice_us,
        row_number() over (partition by {{ span }}, slice_from order by evidence_rank, device_rank) as place
    from slice_devices
    where place_on_host <= host_chips
),

counted_use as (
    select {{ node }}, device_time.span_from_us, device_time.known_us, device_time.seen_us, device_time.used_ppm_us
    from device_time
    left join crowded_nodes using ({{ node }})
    where crowded_nodes.resource_id is null

    union all

    select
        {{ span }},
        case when utilisation_ppm is not null then cast(slice_us as decimal(19, 0)) else 0 end as known_us,
        cast(slice_us as decimal(19, 0)) as seen_us,
        cast(coalesce(utilisation_ppm, 0) as decimal(19, 0)) * cast(slice_us as decimal(18, 0)) as used_ppm_us
    from chosen_slice_devices
    where place <= counted_chips
)

select
    {{ span }},
    sum(known_us) as known_us,
    sum(seen_us) as seen_us,
    sum(used_ppm_us) as used_ppm_us
from counted_use
group by all

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
    from pieces
    group by usage_month, training_run_id, resource_id, span_from_us, device_id
),

-- more devices seen than chips held: the run holds part of the node, its job moved to other machines, or chips were numbered anew
crowded as (
    select usage_month, training_run_id, resource_id
    from pieces
    group by usage_month, training_run_id, resource_id
    having count(distinct device_id) > min(counted_chips)

    union

    select pieces.usage_month, pieces.training_run_id, pieces.resource_id
    from pieces
    inner join {{ ref('int_run_machines') }} as machines
        on
            pieces.usage_month = machines.usage_month
            and pieces.training_run_id = machines.training_run_id
            and pieces.resource_id = machines.resource_id
            and pieces.host_key = machines.host_key
    group by pieces.usage_month, pieces.training_run_id, pieces.resource_id, machines.host_key
    having count(distinct pieces.device_id) > max(machines.host_chips)
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

-- a bucket is as long as the longest piece, so a piece lies in two at most and a slice meets only its neighbours
choosing as (
    select
        pieces.*,
        machines.host_chips,
        ranked.device_rank,
        max(pieces.seen_to_us - pieces.seen_from_us) over (
            partition by pieces.{{ span | join(', pieces.') }}
        ) as bucket_us
    from pieces
    inner join crowded
        on
            pieces.usage_month = crowded.usage_month
            and pieces.training_run_id = crowded.training_run_id
            and pieces.resource_id = crowded.resource_id
    inner join ranked
        on
            pieces.usage_month = ranked.usage_month
            and pieces.training_run_id = ranked.training_run_id
            and pieces.resource_id = ranked.resource_id
            and pieces.device_id = ranked.device_id
    inner join {{ ref('int_run_machines') }} as machines
        on
            pieces.usage_month = machines.usage_month
            and pieces.training_run_id = machines.training_run_id
            and pieces.resource_id = machines.resource_id
            and pieces.host_key = machines.host_key
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
)

select
    {{ span | join(', ') }},
    sum(known_us) as known_us,
    sum(seen_us) as seen_us,
    sum(used_ppm_us) as used_ppm_us
from counting
group by {{ span | join(', ') }}

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

-- when any chip of the node was seen, the node was alive: a TPU without a point was idle then
reached as (
    select
        *,
        max(observed_to_us) over (
            partition by usage_month, training_run_id, resource_id order by observed_from_us, observed_to_us
            rows between unbounded preceding and 1 preceding
        ) as reached_us
    from {{ ref('int_run_device_spans') }}
),

live_time as (
    select
        spans.usage_month,
        spans.training_run_id,
        spans.resource_id,
        spans.span_from_us,
        sum(cast(
            greatest(
                least(reached.observed_to_us, spans.span_to_us)
                - greatest(reached.observed_from_us, coalesce(reached.reached_us, reached.observed_from_us), spans.span_from_us),
                0
            ) as decimal(19, 0)
        )) as live_us
    from weighed as spans
    inner join reached
        on
            spans.usage_month = reached.usage_month
            and spans.training_run_id = reached.training_run_id
            and spans.resource_id = reached.resource_id
            and reached.observed_from_us < spans.span_to_us
            and reached.observed_to_us > spans.span_from_us
    where spans.is_tpu
    group by spans.usage_month, spans.training_run_id, spans.resource_id, spans.span_from_us
),

-- there, as many devices as chips are held count at any one time: what measured goes before what only lived, then the most used of the month.
-- A bucket is as long as the longest piece, so a piece lies in two at most and a slice meets only its neighbours
choosing as (
    select
        cut.*,
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

chosen as (
    select
        slices.*,
        bucketed.counted_chips,
        bucketed.utilisation_ppm,
        row_number() over (
            partition by slices.{{ span | join(', slices.') }}, slices.slice_from_us
            order by case when bucketed.is_measured then 0 else 1 end, bucketed.device_rank
        ) as place
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
                + greatest(cast(spans.counted_chips as decimal(19, 0)) * coalesce(live_time.live_us, 0) - coalesce(counted.seen_us, 0), 0)
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

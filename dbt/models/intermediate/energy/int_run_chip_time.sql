-- Chip time of each run, node and month: reserved, seen, and how much of the seen was use. All in chip-microseconds, to be multiplied by
-- share_numerator / share_denominator: 1 where the run's own chips are known one by one, its chips over the node's chips where they are not.
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
        devices.device_id,
        devices.utilisation_ppm,
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

counted as (
    select
        spans.usage_month,
        spans.training_run_id,
        spans.resource_id,
        spans.span_from_us,
        sum(device_time.known_us) as known_us,
        sum(device_time.seen_us) as seen_us,
        sum(device_time.used_ppm_us) as used_ppm_us
    from weighed as spans
    inner join device_time
        on
            spans.usage_month = device_time.usage_month
            and spans.training_run_id = device_time.training_run_id
            and spans.resource_id = device_time.resource_id
            and spans.span_from_us = device_time.span_from_us
    inner join ranked
        on
            device_time.usage_month = ranked.usage_month
            and device_time.training_run_id = ranked.training_run_id
            and device_time.resource_id = ranked.resource_id
            and device_time.device_id = ranked.device_id
    where ranked.device_rank <= spans.counted_chips
    group by spans.usage_month, spans.training_run_id, spans.resource_id, spans.span_from_us
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

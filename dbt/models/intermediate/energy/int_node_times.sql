{{ config(materialized='by_month', meta={'days': 'usage_day'}) }}

with held_times as (
    select
        usage_month,
        usage_day,
        resource_id,
        span_from_us,
        max(span_to_us) as span_to_us,
        max(node_chips) as node_chips,
        max(span_chips) as span_chips,
        max(holder_count) as holder_count,
        min(accelerator_type) as accelerator_type
    from {{ ref('int_node_spans') }}
    group by usage_month, usage_day, resource_id, span_from_us
),

nodes as (
    select usage_month, resource_id, max(node_chips) as node_chips, min(accelerator_type) as accelerator_type
    from held_times
    group by all
),

billed_times as (
    select
        usage_month,
        resource_id,
        {{ instant_us('billed.billed_from') }} as from_us,
        {{ instant_us('billed.billed_to') }} as to_us
    from {{ ref('int_billed_times') }} as billed
    inner join nodes using (usage_month, resource_id)
),

days as (
    select distinct usage_month, nodes.resource_id, days.day_from_us, days.day_to_us
    from {{ ref('int_telemetry_days') }} as days
    inner join nodes using (usage_month)
),

slices as (
    {{ counted_slices('usage_month, resource_id', ['holders', 'bills'], [
        ('held_times', 'span_from_us', 'span_to_us', 'holders'),
        ('billed_times', 'from_us', 'to_us', 'bills'),
        (ref('int_metered_nodes'), 'metered_from_us', 'metered_to_us', none),
        ('days', 'day_from_us', 'day_to_us', none),
    ]) }}
),

-- billed, and no run held it
free_times as (
    select usage_month, resource_id, slice_from as span_from_us, slice_to as span_to_us
    from slices
    where bills > 0 and holders = 0
),

times as (
    select * from held_times
    union all
    select
        usage_month,
        {{ day_of('free_times.span_from_us') }} as usage_day,
        resource_id,
        free_times.span_from_us,
        free_times.span_to_us,
        nodes.node_chips,
        cast(0 as decimal(18, 6)) as span_chips,
        cast(0 as bigint) as holder_count,
        nodes.accelerator_type
    from free_times
    inner join nodes using (usage_month, resource_id)
),

-- a time lies in one metered stretch or in none
metered_times as (
    select
        usage_month,
        resource_id,
        times.span_from_us
        {%- for read in ['power_uw', 'power_low_uw', 'power_high_uw'] %},
        cast(sum(
            cast(power.{{ read }} as decimal(19, 0))
            * cast(least(power.to_us, times.span_to_us) - greatest(power.from_us, times.span_from_us) as decimal(18, 0))
        ) as decimal(38, 0)) as {{ read | replace('power', 'node') }}_us
        {%- endfor %}
    from times
    inner join {{ ref('int_node_power') }} as power using (usage_month, resource_id)
    where power.from_us < times.span_to_us and power.to_us > times.span_from_us
    group by usage_month, resource_id, times.span_from_us
)

select
    times.*,
    metered_times.node_uw_us,
    metered_times.node_low_uw_us,
    metered_times.node_high_uw_us,
    coalesce(times.span_chips > times.node_chips, false) as is_oversubscribed,
    -- a chip of which runs hold parts is in use
    cast(ceil(coalesce(least(times.span_chips, times.node_chips), 0)) as bigint) as held_chips,
    coalesce(types.accelerator_family = 'tpu', false) as is_tpu
from times
left join metered_times using (usage_month, resource_id, span_from_us)
left join {{ ref('accelerator_types') }} as types using (accelerator_type)

{%- set node = 'usage_month, training_run_id, resource_id' %}
with host_samples as (
    select
        {{ node }},
        machines.host_chips,
        samples.observed_from_us,
        samples.observed_to_us,
        max(samples.observed_to_us) over (
            partition by {{ node }}, machines.host_key
            order by samples.observed_from_us, samples.observed_to_us rows between unbounded preceding and 1 preceding
        ) as reached_us
    from {{ ref('int_run_device_spans') }} as samples
    inner join {{ ref('int_run_machines') }} as machines using ({{ node }})
    where {{ host_of_device('samples.device_id') }} = machines.host_key
),

host_alive_times as (
    select
        {{ node }},
        spans.span_from_us,
        spans.counted_chips,
        samples.host_chips,
        greatest(samples.observed_from_us, coalesce(samples.reached_us, samples.observed_from_us), spans.span_from_us)
            as live_from_us,
        least(samples.observed_to_us, spans.span_to_us) as live_to_us
    from {{ ref('int_run_node_shares') }} as spans
    inner join host_samples as samples using ({{ node }})
    where spans.is_tpu and samples.observed_from_us < spans.span_to_us and samples.observed_to_us > spans.span_from_us
),

changes_of_chips_alive as (
    select {{ node }}, span_from_us, counted_chips, at_us, sum(chips) as chips
    from (
        select *, live_from_us as at_us, host_chips as chips from host_alive_times
        union all
        select *, live_to_us as at_us, -host_chips as chips from host_alive_times
    ) as changes
    where live_from_us < live_to_us
    group by all
),

chips_alive_times as (
    select
        *,
        sum(chips) over (
            partition by {{ node }}, span_from_us order by at_us rows between unbounded preceding and current row
        ) as chips_alive,
        lead(at_us) over (partition by {{ node }}, span_from_us order by at_us) as until_us
    from changes_of_chips_alive
)

select
    {{ node }},
    span_from_us,
    sum(cast(least(chips_alive, counted_chips) as decimal(19, 0)) * cast(until_us - at_us as decimal(18, 0))) as live_chip_us
from chips_alive_times
where until_us is not null
group by all

{%- set span = ['usage_month', 'training_run_id', 'resource_id', 'span_from_us'] %}
with host_samples as (
    select *, {{ host_of_device() }} as host_key
    from {{ ref('int_run_device_spans') }}
),

host_samples_with_reach as (
    select
        host_samples.*,
        machines.host_chips,
        max(host_samples.observed_to_us) over (
            partition by host_samples.usage_month, host_samples.training_run_id, host_samples.resource_id, host_samples.host_key
            order by host_samples.observed_from_us, host_samples.observed_to_us rows between unbounded preceding and 1 preceding
        ) as reached_us
    from host_samples
    inner join {{ ref('int_run_machines') }} as machines using (usage_month, training_run_id, resource_id, host_key)
),

host_alive_times as (
    select
        spans.usage_month,
        spans.training_run_id,
        spans.resource_id,
        spans.span_from_us,
        spans.counted_chips,
        samples.host_chips,
        greatest(samples.observed_from_us, coalesce(samples.reached_us, samples.observed_from_us), spans.span_from_us)
            as live_from_us,
        least(samples.observed_to_us, spans.span_to_us) as live_to_us
    from {{ ref('int_run_node_shares') }} as spans
    inner join host_samples_with_reach as samples using (usage_month, training_run_id, resource_id)
    where spans.is_tpu and samples.observed_from_us < spans.span_to_us and samples.observed_to_us > spans.span_from_us
),

changes_of_chips_alive as (
    select {{ span | join(', ') }}, counted_chips, at_us, sum(chips) as chips
    from (
        select *, live_from_us as at_us, host_chips as chips from host_alive_times
where live_from_us < live_to_us
        union all
        select *, live_to_us as at_us, -host_chips as chips from host_alive_times
where live_from_us < live_to_us
    ) as changes
    group by {{ span | join(', ') }}, counted_chips, at_us
),

chips_alive_times as (
    select
        *,
        sum(chips)
            over (partition by {{ span | join(', ') }} order by at_us rows between unbounded preceding and current row)
            as chips_alive,
        lead(at_us) over (partition by {{ span | join(', ') }} order by at_us) as until_us
    from changes_of_chips_alive
)

select
    {{ span | join(', ') }},
    sum(cast(least(chips_alive, counted_chips) as decimal(19, 0)) * cast(until_us - at_us as decimal(18, 0))) as live_chip_us
from chips_alive_times
where until_us is not null
group by {{ span | join(', ') }}

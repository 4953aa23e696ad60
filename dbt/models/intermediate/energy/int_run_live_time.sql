{%- set span = ['usage_month', 'training_run_id', 'resource_id', 'span_from_us'] %}
with placed as (
    select *, {{ host_of_device() }} as host_key
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
    inner join {{ ref('int_run_machines') }} as machines
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
    from {{ ref('int_run_node_shares') }} as spans
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
)

select
    {{ span | join(', ') }},
    sum(cast(least(chips_alive, counted_chips) as decimal(19, 0)) * cast(until_us - at_us as decimal(18, 0))) as live_chip_us
from live_chips
where until_us is not null
group by {{ span | join(', ') }}

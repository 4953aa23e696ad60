with unknown_ends as (
    select distinct usage_month, training_run_id from {{ ref('int_month_holdings') }}
    where held_to is null
)

select
    usage_month,
    training_run_id,
    resource_id,
    spans.accelerator_type,
    spans.share_numerator,
    spans.share_denominator,
    -- nor is the energy of a part where the run held another machine until nobody knows when
    bool_and(spans.run_chips is not null and unknown_ends.training_run_id is null) as is_chips_known,
    cast(
        sum(cast(coalesce(spans.counted_chips, 0) as decimal(19, 0)) * cast(spans.span_us as decimal(18, 0))) as decimal(38, 0)
    ) as reserved_us,
    cast(sum(case
        when spans.counted_chips is null then 0
        when spans.is_tpu
            then coalesce(counted.known_us, 0)
                + greatest(coalesce(live_time.live_chip_us, 0) - coalesce(counted.seen_us, 0), 0)
        else coalesce(counted.known_us, 0)
    end) as decimal(38, 0)) as observed_us,
    cast(sum(case when spans.counted_chips is null then 0 else coalesce(counted.used_ppm_us, 0) end) as decimal(38, 0))
        as used_ppm_us
from {{ ref('int_run_node_shares') }} as spans
left join unknown_ends using (usage_month, training_run_id)
left join {{ ref('int_run_device_use') }} as counted using (usage_month, training_run_id, resource_id, span_from_us)
left join {{ ref('int_run_live_time') }} as live_time using (usage_month, training_run_id, resource_id, span_from_us)
group by all

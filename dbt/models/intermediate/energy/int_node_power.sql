{{ config(materialized='by_month') }}
{%- set node = 'usage_month, resource_id' %}

with ranked_readings as (
    select
        {{ node }},
        readings.from_us as sample_from_us,
        readings.to_us as sample_to_us,
        readings.power_uw,
        readings.power_low_uw,
        readings.power_high_uw,
        -- a meter before its part of a shared one, that before what a scheduler adds up, and that before an estimate by a process
        case readings.meter when 'shared' then 2 when 'slurm' then 3 when 'codecarbon' then 4 else 1 end as meter_rank,
        max(readings.to_us) over (
            partition by {{ node }} order by readings.from_us range between unbounded preceding and 1 preceding
        ) as reached_us
    from {{ ref('int_node_readings') }} as readings
    left join {{ ref('int_partial_meters') }} as partial using ({{ node }}, meter, asked_from_us)
    where partial.resource_id is null and not readings.is_below_band
),

-- readings this close together leave no gap
gapless_readings as (
    select
        {{ node }},
        meter_rank,
        power_uw,
        power_low_uw,
        power_high_uw,
        case
            when sample_from_us > reached_us and sample_from_us - reached_us <= {{ telemetry_gap_us() }} then reached_us
            else sample_from_us
        end as from_us,
        sample_to_us as to_us
    from ranked_readings
),

timed_readings as (
    select *, max(to_us - from_us) over (partition by {{ node }}) as bucket_us
    from gapless_readings
),

bucketed_readings as (
    {{ bucketed('timed_readings', 'from_us', 'to_us') }}
),

slices as (
    {{ slices('timed_readings', node ~ ', bucket_us', 'from_us', 'to_us') }}
),

slice_readings as (
    select
        {{ node }},
        slices.slice_from,
        slices.slice_to,
        bucketed_readings.power_uw,
        bucketed_readings.power_low_uw,
        bucketed_readings.power_high_uw,
        bucketed_readings.meter_rank,
        min(bucketed_readings.meter_rank) over (partition by {{ node }}, slices.slice_from) as best_rank
    from slices
    inner join bucketed_readings using ({{ node }}, bucket_us)
    where
        {{ bucket_of('slices.slice_from') }} = bucketed_readings.bucket
        and bucketed_readings.from_us <= slices.slice_from
        and bucketed_readings.to_us >= slices.slice_to
)

select
    {{ node }},
    slice_from as from_us,
    slice_to as to_us,
    -- of two meters the greater: one may see a part of the node only
    max(power_uw) as power_uw,
    max(power_low_uw) as power_low_uw,
    max(power_high_uw) as power_high_uw
from slice_readings
where meter_rank = best_rank
group by {{ node }}, slice_from, slice_to

with samples as (
    {{ telemetry_samples('gpu_monitoring', has_power=true, also=['device_uuid', 'energy_mj', 'power_limit_mw']) }}
),

-- a GPU that is exchanged starts another counter
counters as (
    select
        coalesce(host_id, '|' || run_key, '') as host_key,
        device_index,
        meter,
        coalesce(device_uuid, '') as device_uuid,
        sample_to_us,
        max(energy_mj) as energy_mj
    from samples
    where energy_mj is not null
    group by all
),

{{ counter_steps('counters', 'host_key, device_index, device_uuid, meter', 'energy_mj', 600000000) }},

-- What a counter grew by is the energy of the time between; one that shrank was reset and shows nothing. Over a silence of more
-- than ten minutes the use at its end would be spread too.
metered as (
    select
        host_key,
        device_index,
        meter,
        sample_to_us,
        max(before_us) as before_us,
        max(case when not is_awaited then {{ microwatts('grown * 1e3 / (sample_to_us - before_us)') }} end) as power_uw,
        bool_or(is_awaited) as is_awaited
    from counter_steps
    where grown >= 0 and sample_to_us - before_us <= 600000000
    group by all
),

metered_samples as (
    select
        samples.*,
        metered.before_us,
        metered.power_uw as counter_uw,
        coalesce(metered.is_awaited and metered.power_uw is null, false) as is_awaited,
        -- a counter that does not move while watts are drawn beside it is stuck, and shows nothing
        coalesce(metered.power_uw = 0 and samples.power_uw > 0, false) as is_stuck
    from samples
    left join metered
        on
            coalesce(samples.host_id, '|' || samples.run_key, '') = metered.host_key
            and samples.device_index = metered.device_index
            and samples.meter = metered.meter
            and samples.sample_to_us = metered.sample_to_us
)

select
    source_name,
    source_object,
    row_number,
    document_hash,
    run_key,
    host_id,
    device_index,
    device_count,
    accelerator_type,
    region_id,
    case when counter_uw is null or is_stuck then sample_from_us else before_us end as sample_from_us,
    sample_to_us,
    is_measured,
    utilisation_ppm,
    component,
    boundary,
    -- the mean by the counter has more than what was drawn at one moment, also in the time that waits for it
    case when is_awaited then null when counter_uw is null or is_stuck then power_uw else counter_uw end as power_uw,
    driver_ppm,
    meter,
    sdk_version,
    is_sampled,
    counter_uw is not null and not is_stuck as is_counter,
    is_stuck,
    case when not is_stuck and counter_uw is not null then sample_from_us end as moment_from_us,
    case when not is_stuck and counter_uw is not null then power_uw end as moment_uw,
    power_limit_mw
from metered_samples

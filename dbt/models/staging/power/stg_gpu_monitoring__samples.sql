{%- set counter = 'partition by host_key, device_index, device_uuid, meter order by sample_to_us' %}
with samples as (
    {{ telemetry_samples('gpu_monitoring', has_power=true, also=['device_uuid', 'energy_mj']) }}
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

steps as (
    select
        *,
        lag(sample_to_us) over ({{ counter }}) as before_us,
        energy_mj - lag(energy_mj) over ({{ counter }}) as grown_mj
    from counters
),

-- What a counter grew by is the energy of the time between; one that shrank was reset and shows nothing. Over a silence of more
-- than ten minutes the use at its end would be spread too.
metered as (
    select
        host_key,
        device_index,
        meter,
        sample_to_us,
        max(before_us) as before_us,
        max({{ microwatts('grown_mj * 1e3 / (sample_to_us - before_us)') }}) as power_uw
    from steps
    where grown_mj >= 0 and sample_to_us - before_us <= 600000000
    group by all
)

select
    samples.source_name,
    samples.source_object,
    samples.row_number,
    samples.document_hash,
    samples.run_key,
    samples.host_id,
    samples.device_index,
    samples.device_count,
    samples.accelerator_type,
    samples.region_id,
    case when metered.power_uw is null then samples.sample_from_us else metered.before_us end as sample_from_us,
    samples.sample_to_us,
    samples.is_measured,
    samples.utilisation_ppm,
    samples.component,
    samples.boundary,
    -- the mean by the counter has more than what was drawn at one moment
    coalesce(metered.power_uw, samples.power_uw) as power_uw,
    samples.driver_ppm,
    samples.meter,
    samples.sdk_version,
    samples.is_sampled
from samples
left join metered
    on
        coalesce(samples.host_id, '|' || samples.run_key, '') = metered.host_key
        and samples.device_index = metered.device_index
        and samples.meter = metered.meter
        and samples.sample_to_us = metered.sample_to_us

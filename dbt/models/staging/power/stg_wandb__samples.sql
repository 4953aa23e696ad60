with delivered as (
    {{ telemetry_samples('wandb', has_power=true, also=["evidence = 'lower_bound' as is_lower_bound"]) | indent(4) }}
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
    sample_from_us,
    sample_to_us,
    is_measured,
    -- of one core that may stand for a node the use is at least this: what is known of it is too little to count
    case when not is_lower_bound then utilisation_ppm end as utilisation_ppm,
    component,
    boundary,
    power_uw,
    driver_ppm,
    meter,
    sdk_version,
    is_sampled
from delivered

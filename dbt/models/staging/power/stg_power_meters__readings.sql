{{ telemetry_samples('power_meters', has_power=true) }}

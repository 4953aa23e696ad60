{{ telemetry_samples('xprof', has_power=true) }}

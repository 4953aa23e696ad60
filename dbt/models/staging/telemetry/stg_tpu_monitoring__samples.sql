{{ telemetry_samples('tpu_monitoring') }}

{{ telemetry_samples('gpu_monitoring', has_power=true) }}

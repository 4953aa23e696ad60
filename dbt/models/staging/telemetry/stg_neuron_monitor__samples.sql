{{ telemetry_samples('neuron_monitor', also=['used_ppm_us']) }}

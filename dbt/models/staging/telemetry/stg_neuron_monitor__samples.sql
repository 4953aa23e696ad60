{{ telemetry_samples('neuron_monitor') }}

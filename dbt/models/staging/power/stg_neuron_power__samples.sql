{{ telemetry_samples('neuron_power', has_power=true) }}

{{ energy_by('model_name') }}

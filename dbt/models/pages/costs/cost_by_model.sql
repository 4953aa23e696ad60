{{ cost_by('model_name') }}

{{ cost_by('accelerator_type') }}

{{ cost_by('team') }}

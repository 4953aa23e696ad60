{{ energy_by('team') }}

-- where each run really was: the grid and PUE of its own region
{{ break_even(
    'modelled_kg', "'kgCO2e'", 'emissions', {
        'saving': 'saving_per_run_kgco2e', 'low': 'saving_low_kgco2e', 'high': 'saving_high_kgco2e', 'one_time': 'one_time_kgco2e', 'scale': 9
    }, is_modelled=true
) }}

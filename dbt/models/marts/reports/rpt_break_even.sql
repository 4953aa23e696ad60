{{ break_even(
    'effective_cost', 'cost_unit', 'cost', {
        'unit': 'billing_currency', 'saving': 'saving_per_run', 'low': 'saving_low', 'high': 'saving_high', 'one_time': 'one_time_cost', 'scale': 12
    }, is_modelled=false
) }}

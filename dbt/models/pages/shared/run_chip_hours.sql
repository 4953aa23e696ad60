select
    training_run_id,
    cast(sum(reserved_chip_hours) as decimal(38, 9)) as chip_hours,
    count(*) - count(reserved_chip_hours) as unknown_months,
    bool_and(coalesce(energy_basis = 'measured', false)) as is_measured
from {{ ref('fct_training_run_energy') }}
group by training_run_id

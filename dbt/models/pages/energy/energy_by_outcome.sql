with run_months as (
    select *
    from {{ ref('energy_run_months') }}
    {{ of_quarters() }}
    where holds_chips
),

parts as (
    select quarter, state as outcome, training_run_id, facility_energy_kwh, facility_energy_kwh_low, facility_energy_kwh_high
    from run_months

    union all

    select
        quarter,
        'idle reserve' as outcome,
        null as training_run_id,
        idle_share_facility_energy_kwh as facility_energy_kwh,
        null as facility_energy_kwh_low,
        null as facility_energy_kwh_high
    from run_months
)

select
    quarter,
    outcome,
    nullif(count(distinct training_run_id), 0) as run_count,
    {{ whole('facility_energy_kwh') }} as facility_energy_kwh,
    {{ whole('facility_energy_kwh_low') }} as facility_energy_kwh_low,
    {{ whole('facility_energy_kwh_high') }} as facility_energy_kwh_high,
    {{ outcome_position() }} as position
from parts
group by quarter, outcome

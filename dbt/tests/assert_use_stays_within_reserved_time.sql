-- Seen time never exceeds reserved time, use never exceeds seen time, and coverage agrees.
{{ config(meta={'dagster': {'ref': {'name': 'fct_training_run_energy'}}}) }}
select *
from (
    select * from {{ ref('fct_training_run_energy') }}
    where {{ of_built_months() }}
) as energy
where
    not telemetry_coverage_ratio between 0 and 1
    or coalesce(busy_chip_hours > reserved_chip_hours, false)
    or coalesce(busy_chip_hours < 0, false)
    or (busy_chip_hours is not null and telemetry_coverage_ratio = 0 and busy_chip_hours > 0)

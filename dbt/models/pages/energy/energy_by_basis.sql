{%- set reserved = 'sum(reserved_chip_hours)' -%}
with windows as (
    select quarter, accelerator_type, {{ windows_in_words() }} as calibrated_from
    from {{ ref('calibrated_run_months') }}
    {{ of_quarters() }}
    group by quarter, accelerator_type
)

select
    quarter,
    accelerator_type,
    accelerator_family,
    {{ reserved }} as reserved_chip_hours,
    sum(busy_chip_hours) as busy_chip_hours,
    {{ exact_ratio('sum(busy_chip_hours)', covered_chip_hours('use_coverage_ratio')) }} as busy_ratio,
    {{ exact_ratio(covered_chip_hours('telemetry_coverage_ratio'), reserved) }} as coverage_ratio,
    {{ exact_ratio(covered_chip_hours('power_coverage_ratio'), reserved) }} as power_coverage_ratio,
    {{ exact_ratio(covered_chip_hours('use_coverage_ratio'), reserved) }} as use_coverage_ratio,
    {{ energy_sums(
        [], ['energy_kwh_measured', 'energy_kwh_driver_power', 'energy_kwh_utilisation_model', 'energy_kwh_time_model']
    ) }},
    max_by(
        energy_basis, list_position(['measured', 'driver_power', 'utilisation_model', 'time_model'], energy_basis)
    ) as energy_basis,
    max_by(
        power_confidence,
        list_position(['measured', 'calibrated', 'published', 'third_party', 'user', 'assumed'], power_confidence)
    ) as power_confidence,
    max(calibrated_from) as calibrated_from
from {{ ref('energy_run_months') }}
{{ of_quarters() }}
left join windows using (quarter, accelerator_type)
group by quarter, accelerator_type, accelerator_family

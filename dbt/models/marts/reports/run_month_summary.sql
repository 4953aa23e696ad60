{{ config(materialized='view') }}

with {{ run_figures('training_run_id, usage_month') }}

select
    training_run_id,
    usage_month,
    runs.recorded_id,
    runs.provider_name,
    runs.accelerator_family,
    runs.accelerator_type,
    runs.team,
    runs.model_name,
    runs.workload_key,
    runs.state,
    {{ run_figure_columns() }},
    energies.reserved_chip_hours,
    energies.telemetry_coverage_ratio,
    {{ status_of('least(costs.status_rank, emissions.status_rank)') }} as status,
    nullif(concat_ws('; ', {{ unknown_figures() }}), '') as unknown_because
from costs
inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
left join energies using (training_run_id, usage_month)
left join emissions using (training_run_id, usage_month)
left join modelled using (training_run_id, usage_month)
left join waters using (training_run_id, usage_month)

{{ config(materialized='view') }}

with {{ run_figures('training_run_id') }}

select
    training_run_id,
    runs.recorded_id,
    runs.provider_name,
    runs.accelerator_family,
    runs.accelerator_type,
    runs.team,
    runs.model_name,
    runs.workload_key,
    runs.state,
    runs.started_at,
    runs.ended_at,
    {{ run_figure_columns() }},
    runs.tokens,
    runs.useful_tokens,
    case
        when {{ is_cost_known() }} then {{ per_million('costs.effective_cost', 12, 'runs.useful_tokens') }}
    end as cost_per_million_tokens,
    {{ per_million('energies.facility_energy_kwh', 9, 'runs.useful_tokens') }} as energy_kwh_per_million_tokens,
    {{ per_million('modelled.modelled_location_based_kgco2e', 9, 'runs.useful_tokens', more=1000) }}
        as location_based_gco2e_per_million_tokens,
    energies.reserved_chip_hours,
    energies.telemetry_coverage_ratio,
    {{ status_of('least(costs.status_rank, emissions.status_rank)') }} as status,
    nullif(concat_ws(
        '; ',
        {{ unknown_figures() }},
        case when runs.tokens is null then 'tokens: not recorded' end,
        case
            when runs.useful_tokens is null then 'useful tokens: not recorded'
            when runs.useful_tokens <= 0 then 'figures per token: no useful tokens'
        end
    ), '') as unknown_because
from {{ ref('dim_training_runs') }} as runs
left join costs using (training_run_id)
left join energies using (training_run_id)
left join emissions using (training_run_id)
left join modelled using (training_run_id)
left join waters using (training_run_id)

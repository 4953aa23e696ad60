select
    energy.*,
    runs.provider_name,
    runs.region_id,
    runs.accelerator_family,
    runs.accelerator_type,
    runs.team,
    runs.model_name,
    runs.state,
    {{ holds_chips('runs', 'energy') }} as holds_chips
from {{ ref('fct_training_run_energy') }} as energy
inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)

select
    quarter,
    runs.team,
    runs.accelerator_type,
    runs.accelerator_family,
    count(*) as run_months,
    count(*) - count(provider_total_location_based_kgco2e) as run_months_without_figure,
    {{ whole_masses() }}
from {{ ref('fct_training_run_emissions') }}
inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
{{ of_quarters() }}
group by all

select
    training_run_id, provider_name, provider_model_version, allocation_confidence, status,
    count(*) as months,
    sum(provider_scope_2_location_based_kgco2e) as provider_scope_2_location_based_kgco2e
from {{ ref('fct_training_run_emissions') }}
group by all

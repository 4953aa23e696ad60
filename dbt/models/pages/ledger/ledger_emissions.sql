select
    emissions.usage_month, {{ ledger_cell('runs') }},
    emissions.provider_name as provider, emissions.provider_model_version as version,
    cast(coalesce(sum(emissions.provider_scope_2_location_based_kgco2e), 0) as decimal(38, 9)) as location_kgco2e,
    cast(coalesce(sum(emissions.provider_scope_2_market_based_kgco2e), 0) as decimal(38, 9)) as market_kgco2e,
    count(*) as run_months
from {{ ref('fct_training_run_emissions') }} as emissions
inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
where emissions.provider_model_version is not null
group by all

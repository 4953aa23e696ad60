-- Which emissions does each run have? The provider's own figures, divided, location-based and market-based side by side, never added.
-- A run with a month that is not published yet has no total: the last column is the number of such months.
select
    emissions.training_run_id,
    emissions.provider_name,
    case when count(*) = count(emissions.provider_total_location_based_kgco2e)
        then sum(emissions.provider_total_location_based_kgco2e) end as total_location_based_kgco2e,
    case when count(*) = count(emissions.provider_total_market_based_kgco2e)
        then sum(emissions.provider_total_market_based_kgco2e) end as total_market_based_kgco2e,
    case when count(*) = count(emissions.provider_scope_2_location_based_kgco2e)
        then sum(emissions.provider_scope_2_location_based_kgco2e) end as provider_scope_2_location_based_kgco2e,
    -- more than one version in a run is a break, not a trend
    count(distinct emissions.provider_model_version) as model_versions,
    bool_or(emissions.allocation_confidence = 'low') as has_low_confidence,
    count(*) filter (where emissions.status in ('not_published', 'no_cell')) as months_without_a_figure
from marts.fct_training_run_emissions as emissions
group by emissions.training_run_id, emissions.provider_name
order by total_location_based_kgco2e desc nulls last, emissions.training_run_id;

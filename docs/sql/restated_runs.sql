-- How did a new model version move runs? Both versions of the same run-month beside each other.
select
    now.training_run_id,
    now.usage_month,
    before.provider_model_version as earlier_version,
    now.provider_model_version as elected_version,
    before.provider_total_location_based_kgco2e as was_kgco2e,
    now.provider_total_location_based_kgco2e as is_kgco2e,
    now.provider_total_location_based_kgco2e - before.provider_total_location_based_kgco2e as moved_kgco2e
from marts.fct_training_run_emissions_versions as now
inner join marts.fct_training_run_emissions_versions as before
    on
        now.training_run_id = before.training_run_id
        and now.usage_month = before.usage_month
        and now.provider_name = before.provider_name
where now.is_elected and not before.is_elected
order by abs(moved_kgco2e) desc nulls last, now.training_run_id, now.usage_month;

-- How do model and provider compare for the same runs of a cell? Engineering view beside the book, both location-based electricity.
-- The two are never added. A ratio that is constant is normal, a ratio that jumps shows that something changed.
select
    provider_name,
    payer_account_id,
    sub_account_id,
    service_code,
    region_id,
    usage_month,
    provider_model_version,
    runs_total as provider_kgco2e_of_runs,
    modelled_total as modelled_kgco2e_of_runs,
    ratio as modelled_over_provider,
    reason
from marts.fct_reconciliation
where method = 'modelled_vs_provider'
order by provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month, provider_model_version;

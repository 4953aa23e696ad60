-- Is every cell of the provider accounted for? difference must be 0 in every row, a publication with
-- another value does not happen.
-- Model versions stay apart: '' for costs, the version for emissions.
select
    provider_name,
    usage_month,
    measure,
    unit_or_currency,
    provider_model_version,
    sum(provider_total) as provider_total,
    sum(runs_total) as runs_total,
    sum(residual_total) as residual_total,
    sum(quarantined_total) as quarantined_total,
    sum(abs(difference)) as difference
from marts.fct_reconciliation
where method = 'conservation'
group by all
order by provider_name, usage_month, measure, unit_or_currency, provider_model_version;

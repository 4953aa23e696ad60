-- Is every cell of the provider accounted for? difference must be 0 in every row, a publication with
-- another value does not happen. The cells themselves are the rows of marts.fct_reconciliation with method 'conservation',
-- here they are added up by month, differences without their signs.
-- Model versions stay apart: '' for costs, the version for emissions.
select
    provider_name,
    usage_month,
    measure,
    unit_or_currency,
    provider_model_version,
    provider_total,
    runs_total,
    residual_total,
    quarantined_total,
    difference
from ops.reconciled_months
order by provider_name, usage_month, measure, unit_or_currency, provider_model_version;

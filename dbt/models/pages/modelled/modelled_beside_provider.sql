select
    quarter,
    provider_name,
    region_id,
    provider_model_version,
    {{ modelled_beside_provider_sums() }}
from {{ ref('fct_reconciliation') }}
{{ of_quarters() }}
where method = 'modelled_vs_provider'
group by quarter, provider_name, region_id, provider_model_version

select
    quarters.quarter,
    provider_name,
    usage_month,
    provider_model_version,
    {{ modelled_beside_provider_sums() }}
from {{ ref('fct_reconciliation') }}
inner join {{ ref('report_quarters') }} as quarters on usage_month >= quarters.prior_start and usage_month < quarters.quarter_end
where method = 'modelled_vs_provider'
group by quarters.quarter, provider_name, usage_month, provider_model_version

select
    quarter,
    provider_name,
    usage_month,
    region_id,
    source_name,
    payer_account_id,
    payer_account_name,
    sub_account_id,
    account_name,
    service_code,
    service_name,
    provider_model_version,
    provider_total,
    runs_total,
    modelled_total,
    difference,
    ratio,
    reason
from {{ ref('fct_reconciliation') }}
{{ of_quarters() }}
{{ account_names('payer_account_id', 'payer_account_name') }}
{{ account_names('sub_account_id', 'account_name') }}
left join {{ ref('dim_services') }} using (provider_name, service_code)
where method = 'modelled_vs_provider'

{%- for table, is_run in [('fct_run_cell_emissions', true), ('fct_residual_emissions', false)] %}
select
    quarter,
    {{ is_run | lower }} as is_run,
    {{ 'training_run_id' if is_run else 'cast(null as varchar) as training_run_id' }},
    {{ 'cast(null as varchar) as reason' if is_run else 'reason' }},
    source_name,
    provider_name,
    payer_account_id,
    region_id,
    service_code,
    usage_month,
    provider_model_version,
    {{ masses() }}
from {{ ref(table) }}
{{ of_quarters() }}
{{ 'union all' if not loop.last }}
{%- endfor %}

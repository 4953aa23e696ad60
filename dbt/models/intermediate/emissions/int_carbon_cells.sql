{{ config(materialized='by_month') }}

select
    {{ cell() }},
    provider_model_version,
    {{ cell_id() }} || '|' || provider_model_version as cell_id,
    bool_and(is_elected) as is_elected,
    bool_or(is_global) as is_global
    {%- for mass in mass_names() %},
    {{ whole_sum(mass, 'decimal(38, 9)') }} as {{ mass }}
    {%- endfor %}
from {{ ref('int_carbon_rows') }}
where quarantine_reason is null
group by {{ cell() }}, provider_model_version

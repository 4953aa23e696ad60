{{ config(materialized='by_month') }}

select
    {{ cell() }},
    provider_model_version,
    {{ cell_id() }} || '|' || provider_model_version as cell_id,
    bool_and(is_elected) as is_elected,
    bool_or(is_global) as is_global,
    {{ whole_sums(mass_names(), 9) }}
from {{ ref('int_carbon_rows') }}
where quarantine_reason is null
group by all

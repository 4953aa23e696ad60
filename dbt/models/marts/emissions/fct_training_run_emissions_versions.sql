{{ config(materialized='by_month') }}

select
    part_id as training_run_id,
    usage_month,
    provider_name,
    provider_model_version,
    bool_and(is_elected) as is_elected,
    {{ whole_sums(mass_names(), 9) }}
from {{ ref('int_carbon_splits') }}
where part_id <> '~residual'
group by all

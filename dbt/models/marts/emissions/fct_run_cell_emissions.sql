{{ config(materialized='by_month') }}

select
    part_id as training_run_id,
    {{ cell() }},
    provider_model_version,
    {{ masses() }}
from {{ ref('int_carbon_splits') }}
where part_id <> '~residual' and is_elected

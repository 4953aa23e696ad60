{{ config(materialized='by_month') }}

with parts as (
    select *, cast(sum(w) over (partition by usage_month, cell_id) as decimal(38, 0)) as whole_w
    from {{ ref('int_carbon_splits') }}
    where is_elected
)

select
    part_id as training_run_id,
    {{ cell() }},
    provider_model_version,
    {{ masses() }},
    cast(w as string) as weight_numerator,
    cast(whole_w as string) as weight_denominator
from parts
where part_id <> '~residual'

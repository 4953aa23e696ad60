{{ config(materialized='by_month') }}

with billed_lines as (
    select
        attributions.usage_month,
        attributions.training_run_id,
        nullif(charges.instance_type, '') as instance_type,
        -- what the text of a Google SKU shows: what the catalogue does not list is an accelerator all the same
        case
            when lines.line_id is null then null
            when lines.instance_type <> '' or lines.is_unknown_tpu then 'tpu'
            else 'gpu'
        end as accelerator_family
    from {{ ref('int_line_attributions') }} as attributions
    inner join {{ ref('int_charges') }} as charges using (usage_month, line_id)
    left join {{ ref('int_gcp_lines') }} as lines using (usage_month, line_id)
    where attributions.training_run_id is not null and charges.is_accelerator_type
)

select
    usage_month,
    training_run_id,
    min(instance_type) as first_type,
    max(instance_type) as last_type,
    max(accelerator_family) as accelerator_family
from billed_lines
group by all

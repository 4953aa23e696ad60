{{ config(materialized='by_month') }}

select
    parts.provider_name,
    parts.payer_account_id,
    parts.sub_account_id,
    {{ carbon_product('parts') }} as service_code,
    parts.region_id,
    parts.usage_month,
    parts.training_run_id,
    parts.reason,
    cast(sum({{ to_units('parts.weight', 12) }}) as decimal(38, 0)) as signed_w,
    cast(greatest(sum({{ to_units('parts.weight', 12) }}), 0) as decimal(38, 0)) as w,
    sum(parts.usage_line_count) as usage_line_count,
    sum(parts.weighted_line_count) as weighted_line_count
from {{ ref('int_cell_parts') }} as parts
where parts.usage_line_count > 0
group by all

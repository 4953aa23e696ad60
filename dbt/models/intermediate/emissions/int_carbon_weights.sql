with billed as (
    select
        parts.provider_name,
        parts.payer_account_id,
        parts.sub_account_id,
        {{ carbon_product('parts') }} as service_code,
        parts.region_id,
        parts.usage_month,
        parts.training_run_id,
        parts.reason,
        {{ to_units('parts.weight', 12) }} as w,
        parts.usage_line_count,
        parts.weighted_line_count
    from {{ ref('int_cell_parts') }} as parts
    where parts.usage_line_count > 0
)

select
    provider_name,
    payer_account_id,
    sub_account_id,
    service_code,
    region_id,
    usage_month,
    training_run_id,
    reason,
    cast(sum(w) as decimal(38, 0)) as signed_w,
    cast(greatest(sum(w), 0) as decimal(38, 0)) as w,
    sum(usage_line_count) as usage_line_count,
    sum(weighted_line_count) as weighted_line_count
from billed
group by provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month, training_run_id, reason

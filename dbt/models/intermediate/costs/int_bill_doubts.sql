{{ config(materialized='by_month') }}

with bill_lines as (
    select
        usage_month, line_id, provider_name, source_name, source_object, row_number, region_id,
        'product_region_code' as region_column, false as is_unknown_tpu, cast(null as string) as sku_description
    from {{ ref('int_aws_lines') }}

    union all

    select
        usage_month, line_id, provider_name, source_name, source_object, row_number, region_id,
        'location_region' as region_column, is_unknown_tpu, sku_description
    from {{ ref('int_gcp_lines') }}
),

types_of_runs as (
    select lines.*, charges.instance_type
    from {{ ref('int_line_attributions') }} as attributions
    inner join {{ ref('int_charges') }} as charges using (usage_month, line_id)
    inner join bill_lines as lines using (usage_month, line_id)
    left join {{ ref('accelerator_types') }} as types on charges.instance_type = types.accelerator_type
    where
        attributions.training_run_id is not null
        and charges.is_accelerator_type
        and charges.instance_type <> ''
        and types.accelerator_family is null
        and {{ in_build_months('attributions.usage_month') }}
),

doubts as (
    select
        lines.usage_month, 'unknown_region' as reason, lines.source_name, lines.source_object, lines.region_column as column_name,
        lines.region_id as value, lines.row_number
    from bill_lines as lines
    left join {{ ref('regions') }} as regions using (provider_name, region_id)
    where regions.region_id is null and lines.region_id <> ''

    union all

    select
        usage_month, 'unknown_tpu_sku' as reason, source_name, source_object, 'sku_description' as column_name,
        sku_description as value, row_number
    from bill_lines
    where is_unknown_tpu

    union all

    select
        usage_month, 'unknown_accelerator_type' as reason, source_name, source_object, 'accelerator_type' as column_name,
        instance_type as value, row_number
    from types_of_runs
)

select
    usage_month,
    reason,
    source_name,
    source_object,
    column_name,
    value,
    min(row_number) as row_number,
    count(*) as line_count
from doubts
group by all

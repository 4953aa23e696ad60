{{ config(materialized='by_month') }}

-- exports of FOCUS have one name for it
with focus_sources as (
    select distinct source_name from {{ source('raw', 'delivery_totals') }}
    where kind in ('aws_focus', 'gcp_focus')
),

-- place: what one doubt is listed once for, a delivery of AWS, an object of Google Cloud
bill_lines as (
    select
        usage_month,
        line_id,
        provider_name,
        source_name,
        delivery_content_hash as place,
        source_object,
        row_number,
        position,
        line_count,
        region_id,
        case
            when source_name in (select focus_sources.source_name from focus_sources) then 'RegionId'
            else 'product_region_code'
        end as region_column,
        false as is_unknown_tpu,
        cast(null as string) as sku_description
    from {{ ref('int_aws_lines') }}

    union all

    select
        usage_month,
        line_id,
        provider_name,
        source_name,
        source_object as place,
        source_object,
        row_number,
        row_number as position,
        line_count,
        region_id,
        case
            when source_name in (select focus_sources.source_name from focus_sources) then 'RegionId' else 'location_region'
        end as region_column,
        is_unknown_tpu,
        sku_description
    from {{ ref('int_gcp_lines') }}
),

types_of_runs as (
    select distinct attributions.usage_month, charges.bill_line_id as line_id, charges.instance_type
    from {{ ref('int_line_attributions') }} as attributions
    inner join {{ built_months_of(ref('int_charges')) }} as charges using (usage_month, line_id)
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
        lines.*,
        'unknown_region' as reason,
        lines.region_column as column_name,
        lines.region_id as value,
        cast(null as decimal(38, 9)) as hours,
        cast(null as decimal(38, 12)) as list_cost
    from bill_lines as lines
    left join {{ ref('regions') }} as regions
        on lines.provider_name = regions.provider_name and lines.region_id = regions.region_id
    where regions.region_id is null and lines.region_id <> ''

    union all

    select
        lines.*,
        'unknown_tpu_sku' as reason,
        'sku_description' as column_name,
        lines.sku_description as value,
        null as hours,
        null as list_cost
    from bill_lines as lines
    where lines.is_unknown_tpu

    union all

    select
        lines.*,
        'unknown_accelerator_type' as reason,
        'accelerator_type' as column_name,
        types.instance_type as value,
        null as hours,
        null as list_cost
    from bill_lines as lines
    inner join types_of_runs as types on lines.usage_month = types.usage_month and lines.line_id = types.line_id

    union all

    select lines.*, 'zero_priced' as reason, 'cost' as column_name, zero.accelerator_type as value, zero.hours, zero.list_cost
    from bill_lines as lines
    inner join {{ ref('int_zero_priced_lines') }} as zero on lines.usage_month = zero.usage_month and lines.line_id = zero.line_id
)

select
    usage_month,
    reason,
    source_name,
    place,
    column_name,
    value,
    min_by(source_object, position) as source_object,
    min_by(row_number, position) as row_number,
    sum(line_count) as line_count,
    {{ whole_sums(['hours'], 9) }},
    {{ whole_sums(['list_cost'], 12) }}
from doubts
group by all

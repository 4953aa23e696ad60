{%- set shared %}
    {{ cell() }}, delivery_content_hash, charge_period_start, charge_period_end, billing_currency, resource_id,
    cast(null as string) as other_resource_id,
    -- SageMaker bills a job under its ARN
    resource_id as job_id,
    -- an instance id is of one machine anywhere
    cast(null as string) as machine_place,
    instance_type, run_tag, has_invoice,
    is_usage as is_part_of_usage,
    is_usage, is_discount, is_accelerator_type, is_block_hour, billed_us, cost_component, billed_cost, effective_cost, list_cost,
    on_demand_list_cost, contracted_cost, weight, is_weight_borrowed, accelerator_type, line_count{% endset -%}
{{ config(materialized='view') }}

with lines as (
    select lines.*, parts.bill_line_id is not null as is_divided
    from {{ ref('int_aws_line_charges') }} as lines
    left join {{ ref('int_aws_pod_charges') }} as parts
        on
            lines.usage_month = parts.usage_month
            and lines.line_id = parts.bill_line_id
            and parts.part_number = 1
)

select
    line_id,
    line_id as attribution_line_id,
    line_id as bill_line_id,
    cast(null as bigint) as part_number,
    cast(null as decimal(38, 9)) as chip_share,
    '' as pod_allocation,
    cast(null as string) as workload_id,
    cast(null as string) as jobset_id,
    cast(null as string) as pod_id,
    {{ shared }},
    cluster_name,
    cluster_place,
    fixed_reason
from lines
where not is_divided

union all

-- what pods had of their machine, in its place
select
    line_id,
    line_id as attribution_line_id,
    bill_line_id,
    part_number,
    chip_share,
    pod_allocation,
    workload_id,
    jobset_id,
    pod_id,
    {{ shared }},
    cast(null as string) as cluster_name,
    cast(null as string) as cluster_place,
    cast(null as string) as fixed_reason
from {{ ref('int_aws_pod_charges') }}

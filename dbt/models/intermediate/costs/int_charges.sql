{%- set shared %}
    line_id, attribution_line_id, bill_line_id, part_number, chip_share, {{ cell() }}, delivery_content_hash, charge_period_start, charge_period_end, billing_currency,
    resource_id, other_resource_id, job_id, machine_place, instance_type, run_tag, has_invoice,
    is_part_of_usage, is_usage, is_accelerator_type, accelerator_type, cost_component,
    billed_cost, effective_cost, list_cost, on_demand_list_cost, contracted_cost, weight, is_weight_borrowed, fixed_reason{% endset -%}
{%- set known = pod_columns() + ['cluster_name', 'cluster_place'] %}
{{ config(materialized='view') }}

select {{ shared }},
    is_discount,
    is_block_hour,
    billed_us,
    line_count,
    pod_id,
    {%- for column in cluster_columns() %}
    {{ column if column in known else 'cast(null as string) as ' ~ column }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ ref('int_aws_charges') }}

union all

select {{ shared }},
    false as is_discount,
    false as is_block_hour,
    -- Google Cloud bills usage in units of its own: the interval is the time
    cast(null as decimal(38, 0)) as billed_us,
    line_count,
    -- GKE names the owner of a pod, not the pod
    cast(null as string) as pod_id,
    {{ cluster_columns() | join(', ') }}
from {{ ref('int_gcp_charges') }}

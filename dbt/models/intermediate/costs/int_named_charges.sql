{{ config(materialized='view') }}
{%- set shared %}
    line_id, {{ cell() }}, charge_period_start, charge_period_end, instance_type, is_usage, is_discount, is_accelerator_type,
    is_block_hour, billed_us, resource_id{% endset %}

-- Google Cloud names a resource twice, and a managed job is its own resource in its record: a record may hold any of the names
select {{ shared }}, resource_id as held_resource_id, false as is_job_name
from {{ ref('int_charges') }}
where fixed_reason is null and resource_id is not null

union all

select {{ shared }}, other_resource_id as held_resource_id, false as is_job_name
from {{ ref('int_charges') }}
where fixed_reason is null and other_resource_id is not null and other_resource_id is distinct from resource_id

union all

select {{ shared }}, job_id as held_resource_id, true as is_job_name
from {{ ref('int_charges') }}
where
    fixed_reason is null
    and job_id is not null
    and job_id is distinct from resource_id
    and job_id is distinct from other_resource_id

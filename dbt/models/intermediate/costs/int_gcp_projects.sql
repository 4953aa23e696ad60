{{ config(materialized='by_month') }}

with named_projects as (
    select usage_month, project_id, project_number
    from {{ ref('int_gcp_line_groups') }}

    union all

    select usage_month, project_id, project_number
    from {{ ref('stg_gcp_carbon__emissions') }}
)

select usage_month, project_id, min(project_number) as project_number
from named_projects
where project_id is not null and project_number is not null
group by all

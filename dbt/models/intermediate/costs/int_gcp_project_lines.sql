{{ config(materialized='view') }}

select
    lines.*,
    coalesce(lines.project_number, projects.project_number, lines.project_id, '') as sub_account_id,
    -- which of the machines of a name it is, as far as anything says: project number, project id, zone
    coalesce(lines.project_number, projects.project_number, '') || '|' || coalesce(lines.project_id, '') || '|' || lines.zone
        as machine_place
from {{ ref('stg_gcp_billing__lines') }} as lines
left join {{ ref('int_gcp_projects') }} as projects
    on lines.usage_month = projects.usage_month and lines.project_id = projects.project_id

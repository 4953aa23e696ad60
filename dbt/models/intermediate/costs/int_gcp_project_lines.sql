{{ config(materialized='view') }}
{%- set account = "coalesce(lines.project_number, projects.project_number, lines.project_id, '')" %}
{%- set project = "coalesce(lines.project_number, projects.project_number, '') || '|' || coalesce(lines.project_id, '')" %}

select
    lines.*,
    {{ account }} as sub_account_id,
    -- which of the machines of a name it is, as far as anything states: project number, project id, zone
    {{ project }} || '|' || lines.zone as machine_place,
    {{ project }} || '|' || lines.cluster_location as cluster_place,
    -- a reservation may be lent by another project, whose number the row does not say
    case
        when coalesce(lines.reservation_project_id, lines.project_id, '') = coalesce(lines.project_id, '') then {{ project }}
        else '|' || lines.reservation_project_id
    end || '|' || lines.zone as reservation_place,
    case when lines.pod_allocation = 'pod' then {{ account }} || '/' || lines.workload_path end as workload_id,
    case when lines.pod_allocation = 'pod' then {{ account }} || '/' || lines.jobset_path end as jobset_id
from {{ ref('int_gcp_line_groups') }} as lines
left join {{ ref('int_gcp_projects') }} as projects
    on lines.usage_month = projects.usage_month and lines.project_id = projects.project_id

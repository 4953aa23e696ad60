{#- AWS writes the keys of its own tags in snake case in one column, and as they are in the other -#}
{%- set of_eks = {} %}
{%- for name in ['cluster-name', 'namespace', 'workload-name', 'deployment'] %}
{%- set places = [
    map_get('resource_tags', 'aws_eks_' ~ name | replace('-', '_')), map_get('resource_tags', 'aws:eks:' ~ name),
    map_get('tags', 'resourceTags/aws:eks:' ~ name),
] %}
{%- do of_eks.update({name: "coalesce(nullif(" ~ places | join(", ''), nullif(") ~ ", ''))"}) %}
{%- endfor %}
{#- how a bill writes the key of a Kubernetes label has been seen in none -#}
{%- set jobset -%}
coalesce(
        {%- for key in [
            'user_jobset_sigs_k8s_io_jobset_name', 'jobset_sigs_k8s_io_jobset_name',
            'user_jobset.sigs.k8s.io/jobset-name', 'jobset.sigs.k8s.io/jobset-name',
        ] %}
        nullif({{ map_get('resource_tags', key) }}, ''),
        {%- endfor %}
        nullif({{ map_get('tags', 'resourceTags/jobset.sigs.k8s.io/jobset-name') }}, '')
    )
{%- endset %}
{%- set place_of_pod -%}
line_item_usage_account_id || '/' || regexp_extract(line_item_resource_id, '^arn:[^:]*:eks:([^:]*):', 1) || '/'
    || coalesce({{ of_eks['cluster-name'] }}, regexp_extract(line_item_resource_id, ':pod/([^/]+)/', 1)) || '/'
    || coalesce({{ of_eks['namespace'] }}, regexp_extract(line_item_resource_id, ':pod/[^/]+/([^/]+)/', 1))
{%- endset -%}
select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    _is_book as is_book,
    cast(date_trunc('month', line_item_usage_start_date) as date) as usage_month,
    line_item_usage_start_date as charge_period_start,
    line_item_usage_end_date as charge_period_end,
    {{ replace_all('split_line_item_parent_resource_id', '^arn:.*:instance/', '') }} as machine_id,
    line_item_resource_id as pod_arn,
    -- Kubernetes names mean something within their cluster and namespace alone
    case when line_item_operation = 'EKSPod-EC2' then {{ place_of_pod }} || '/'
        || coalesce({{ of_eks['workload-name'] }}, {{ of_eks['deployment'] }}) end as workload_id,
    case when line_item_operation = 'EKSPod-EC2' then {{ place_of_pod }} || '/' || {{ jobset }} end as jobset_id,
    -- arn:aws:eks:<region>:<account>:pod/<cluster>/<namespace>/<name>/<uid>; a task of ECS is known by its ARN alone
    case
        when line_item_operation = 'ECSTask-EC2' then nullif(line_item_resource_id, '')
        when {{ matches('line_item_resource_id', ':pod/[^/]+/[^/]+/[^/]+') }}
            then line_item_usage_account_id || '/' || regexp_extract(line_item_resource_id, '^arn:[^:]*:eks:([^:]*):', 1) || '/'
            || regexp_extract(line_item_resource_id, ':pod/([^/]+/[^/]+/[^/]+)', 1)
    end as pod_id,
    -- beside the rows of its cores and its memory a pod has a third one where it asked for accelerators
    not {{ matches("coalesce(line_item_usage_type, '')", '(vCPU|GB)-Hours') }} as is_of_accelerators,
    {%- for name in [
        'split_cost', 'unused_cost', 'net_split_cost', 'net_unused_cost', 'public_on_demand_split_cost',
        'public_on_demand_unused_cost', 'split_usage_ratio',
    ] %}
    split_line_item_{{ name }} as {{ name }},
    split_line_item_{{ name }}__text as {{ name }}__text,
    {%- endfor %}
    _run_tag as run_tag
from {{ source('raw', 'aws_cur') }}
where
    line_item_operation in ('EKSPod-EC2', 'ECSTask-EC2')
    and split_line_item_parent_resource_id <> ''

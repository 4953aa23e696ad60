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
{#- arn:aws:eks:<region>:<account>:pod/<cluster>/<namespace>/<name>/<uid>. Cut, for a pattern takes ten times as long -#}
{%- set is_pod = "line_item_resource_id like 'arn:%:eks:%:pod/%/%/%'" %}
{%- set place = "line_item_usage_account_id || '/' || split_part(line_item_resource_id, ':', 4) || '/'" %}
{%- set cluster, namespace = "split_part(line_item_resource_id, '/', 2)", "split_part(line_item_resource_id, '/', 3)" %}
{%- set place_of_pod -%}
case
        when {{ is_pod }}
            then {{ place }} || coalesce({{ of_eks['cluster-name'] }}, {{ cluster }}) || '/' || coalesce({{ of_eks['namespace'] }}, {{ namespace }})
    end
{%- endset -%}
select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    _is_book as is_book,
    cast(date_trunc('month', line_item_usage_start_date) as date) as usage_month,
    line_item_usage_start_date as charge_period_start,
    line_item_usage_end_date as charge_period_end,
    case
        when split_line_item_parent_resource_id like 'arn:%'
            then {{ replace_all('split_line_item_parent_resource_id', '^arn:.*:instance/', '') }}
        else split_line_item_parent_resource_id
    end as machine_id,
    line_item_resource_id as pod_arn,
    -- Kubernetes names mean something within their cluster and namespace alone
    {{ place_of_pod }} || '/' || coalesce({{ of_eks['workload-name'] }}, {{ of_eks['deployment'] }}) as workload_id,
    {{ place_of_pod }} || '/' || {{ jobset }} as jobset_id,
    -- a task of ECS is known by its ARN alone
    case
        when line_item_operation = 'ECSTask-EC2' then nullif(line_item_resource_id, '')
        when {{ is_pod }}
            then {{ place }} || {{ cluster }} || '/' || {{ namespace }} || '/' || split_part(line_item_resource_id, '/', 4)
    end as pod_id,
    -- beside the rows of its cores and its memory a pod has a third one where it asked for accelerators
    coalesce(line_item_usage_type not like '%vCPU-Hours%' and line_item_usage_type not like '%GB-Hours%', true)
        as is_of_accelerators,
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

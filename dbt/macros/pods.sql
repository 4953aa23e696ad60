{# Pods and tasks: how a run's record names them, which charges of a machine they divide. #}

{# Under which names a record may mean a workload: project/location/cluster/namespace/name, of which it may leave out the beginning. One row per
   name; rows: (usage_month, workload_id), and the columns of `also`. #}
{% macro workload_spellings(rows, also=[]) -%}
{%- set spelling = namespace(of='workload_id') -%}
{%- set columns = ['usage_month', 'workload_id'] + also -%}
{%- for _ in range(5) %}
    select {{ columns | join(', ') }}, {{ spelling.of }} as alias_id from {{ rows }}
    {%- set spelling.of = replace_all(spelling.of, '^[^/]*/', '') %}
    {{- ' union all' if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{# Whether an alias is of a workload, or where the name is that of a single pod or task, of that. #}
{% macro is_alias_of_workload(aliases, is_pod_name) -%}
({{ aliases }}.alias_system = 'kubernetes' or ({{ is_pod_name }} and {{ aliases }}.alias_system in ('kubernetes_pod', 'ecs_task')))
{%- endmacro %}

{# Whether an AWS usage type is the time of an instance, which is what pods and tasks have parts of: not its disks, not its traffic. #}
{% macro aws_is_instance_time(usage_type) -%}
{{ matches(usage_type, '(BoxUsage|SpotUsage|DedicatedUsage):') }}
{%- endmacro %}

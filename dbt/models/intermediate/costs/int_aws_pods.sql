{{ config(materialized='by_month') }}
{%- set machine_time = 'source_name, usage_month, machine_id, charge_period_start, charge_period_end' %}
{%- set ids = ['workload_id', 'jobset_id', 'pod_id'] %}

with pods as (
    select *, {{ normalised_run_id('run_tag') }} as tag_run_id
    from {{ ref('stg_aws_cur__pods') }}
    where is_book and {{ in_build_months() }}
),

-- a pod is known by its workload, by the JobSet that its workload is one of, and by itself
workloads as (
    {%- for id in ids %}
    select distinct usage_month, {{ id }} as workload_id, {{ 'true' if id == 'pod_id' else 'false' }} as is_pod_name
    from pods
    where {{ id }} is not null
    {{- '\n\n    union all\n' if not loop.last }}
    {%- endfor %}
),

spellings as (
    {{- workload_spellings('workloads', ['is_pod_name']) }}
),

named as (
    select distinct spellings.usage_month, spellings.workload_id, spellings.is_pod_name
    from spellings
    inner join {{ ref('stg_training_runs__aliases') }} as aliases
        on spellings.alias_id = aliases.alias_id and {{ is_alias_of_workload('aliases', 'spellings.is_pod_name') }}
),

-- what no record names tells no pod from another
identified as (
    select
        pods.*
        {%- for id in ids %},
        named_{{ id }}.workload_id as named_{{ id }}
        {%- endfor %}
    from pods
    {%- for id in ids %}
    left join named as named_{{ id }}
        on
            pods.usage_month = named_{{ id }}.usage_month
            and pods.{{ id }} = named_{{ id }}.workload_id
            and named_{{ id }}.is_pod_name = {{ 'true' if id == 'pod_id' else 'false' }}
    {%- endfor %}
),

-- where no pod of a machine's time has a name, nothing is known of it that the machine's own row does not show
named_times as (
    select {{ machine_time }}, bool_or(is_of_accelerators) as has_accelerators
    from identified
    group by {{ machine_time }}
    having
        bool_or(tag_run_id is not null)
        {%- for id in ids %}
        or bool_or(named_{{ id }} is not null)
        {%- endfor %}
),

pods_of_times as (
    select identified.*, named_times.has_accelerators
    from identified
    inner join named_times using ({{ machine_time }})
),

-- of each pod, which part of the accelerators it asked for, and of the machine as the mean of its cores and its memory
single_pods as (
    select
        {{ machine_time }},
        pod_arn,
        tag_run_id,
        {%- for id in ids %}
        named_{{ id }} as {{ id }},
        {%- endfor %}
        min(run_tag) as run_tag,
        bool_and(
            {{ as_double('net_split_cost') }} is not null
            or ({{ as_double('split_cost') }} is null and {{ as_double('unused_cost') }} is null)
        ) as is_net,
        {%- for cost in ['split_cost', 'unused_cost', 'net_split_cost', 'net_unused_cost', 'public_on_demand_split_cost',
            'public_on_demand_unused_cost'] %}
        {{ exact_total(cost, cost ~ '__text', 12) }} as {{ cost }},
        {%- endfor %}
        {%- for kind, is_of in [('accelerator', 'is_of_accelerators'), ('other', 'not is_of_accelerators')] %}
        cast(sum(case when {{ is_of }} then {{ to_exact('split_usage_ratio', 9) }} end) as decimal(38, 9)) as {{ kind }}_ratio,
        {%- endfor %}
        count(case when not is_of_accelerators then {{ as_double('split_usage_ratio') }} end) as other_count,
        max(case when has_accelerators then 1 else 0 end) = 1 as has_accelerators
    from pods_of_times
    group by
        {{ machine_time }},
        pod_arn, tag_run_id, named_{{ ids | join(', named_') }}
)

select
    {{ machine_time }},
    tag_run_id,
    {{ ids | join(', ') }},
    min(run_tag) as run_tag,
    -- net first, where every pod of the time states it
    bool_and(is_net) as is_net,
    {%- for net in ['net_', ''] %}
    {{ exact_sum(['coalesce(sum(' ~ net ~ 'split_cost), 0)', 'coalesce(sum(' ~ net ~ 'unused_cost), 0)'], 12) }} as {{ net }}cost,
    {%- endfor %}
    {{ exact_sum(['coalesce(sum(public_on_demand_split_cost), 0)', 'coalesce(sum(public_on_demand_unused_cost), 0)'], 12) }}
        as on_demand_cost,
    cast(coalesce(sum(accelerator_ratio), 0) as decimal(38, 9)) as accelerator_ratio,
    cast(sum(case
        when has_accelerators then coalesce(accelerator_ratio, 0)
        when other_count > 0
            then {{ from_units(int_div(to_units('other_ratio', 9), 'cast(other_count as decimal(38, 0))'), 9) }}
        else 0
    end) as decimal(38, 9)) as usage_ratio
from single_pods
group by {{ machine_time }}, tag_run_id, {{ ids | join(', ') }}

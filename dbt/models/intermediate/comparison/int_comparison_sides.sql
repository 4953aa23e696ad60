{{ config(meta={'empty_without': ['int_compared_runs where pair_key is not null']}) }}
{%- set attributes = ['accelerator_type', 'region_id', 'purchase', 'software', 'team'] %}
{%- set costs = ['effective_cost', 'on_demand_list_cost', 'loaded_cost'] %}

with launches as (
    select * from {{ ref('int_compared_runs') }}
    where pair_key is not null
),

sides as (
    select
        workload_key,
        pair_key,
        accelerator_family,
        count(*) as launches,
        count(case when is_reached then 1 end) as reached,
        bool_or(is_running) as is_running,
        -- when it first reached the target; one that did not, when it first ended: what is launched later moves neither
        coalesce(min(case when is_reached then ended_at end), min(ended_at)) as settled_at,
        min(cost_unit) as cost_unit,
        count(*) = count(case when is_cost_known then 1 end) as is_cost_known,
        {%- for cost in costs %}
        -- one that is unknown leaves no cost of the side
        case when count(*) = count({{ cost }}) then cast(sum({{ cost }}) as decimal(38, 12)) end as {{ cost }},
        {%- endfor %}
        cast(sum(case when is_reached then cast(coalesce(useful_tokens, tokens) as decimal(19, 0)) end) as double)
        / nullif(count(case when is_reached then coalesce(useful_tokens, tokens) end), 0) as mean_tokens,
        cast(sum(case when is_reached then {{ whole_number('model_flops') }} end) as double)
        / nullif(count(case when is_reached then model_flops end), 0) as mean_model_flops
    from launches
    group by workload_key, pair_key, accelerator_family
),

attributes as (
    {%- for attribute in attributes %}
    select distinct workload_key, pair_key, accelerator_family, '{{ attribute }}' as attribute, {{ attribute }} as name
    from launches
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

named as (
    select
        workload_key,
        pair_key,
        accelerator_family
        {%- for attribute in attributes %},
        {{ in_one_text("case when attribute = '" ~ attribute ~ "' then name end") }} as {{ attribute }}
        {%- endfor %}
    from attributes
    group by workload_key, pair_key, accelerator_family
)

select
    sides.*
    {%- for attribute in attributes %},
    named.{{ attribute }}
    {%- endfor %}
from sides
inner join named
    on
        sides.workload_key = named.workload_key and sides.pair_key = named.pair_key
        and sides.accelerator_family = named.accelerator_family

{{ config(materialized='by_month', meta={'empty_without': ['int_aws_pods']}) }}
{%- set measures = [
    'billed_cost', 'effective_cost', 'list_cost', 'on_demand_list_cost', 'contracted_cost', 'weight', 'block_cost',
] %}
{%- set machine_time = 'source_name, usage_month, machine_id, charge_period_start, charge_period_end' %}

with lines as (
    select *, resource_id as machine_id
    from {{ ref('int_aws_line_charges') }}
    where {{ in_build_months() }} and is_instance_time and fixed_reason is null and (is_usage or is_discount)
),

-- a machine's time may be billed in several rows, as where a plan covers a part of it
machine_costs as (
    select
        {{ machine_time }},
        {{ sums(['stated_cost'], 12) }},
        {{ whole_sums(['list_cost'], 12) }},
        bool_and(is_before_discounts) as is_before_discounts
    from lines
    where is_usage
    group by {{ machine_time }}
),

pod_costs as (
    select
        {{ machine_time }},
        bool_and(is_net) as is_net,
        cast(sum(greatest(net_cost, 0)) as decimal(38, 12)) as net_cost,
        cast(sum(greatest(cost, 0)) as decimal(38, 12)) as cost,
        cast(sum(greatest(on_demand_cost, 0)) as decimal(38, 12)) as on_demand_cost,
        cast(sum(greatest(usage_ratio, 0)) as decimal(38, 9)) as usage_ratio
    from {{ ref('int_aws_pods') }}
    where {{ in_build_months() }}
    group by {{ machine_time }}
),

times as (
    select pod_costs.*, machine_costs.stated_cost, machine_costs.list_cost, machine_costs.is_before_discounts
    from pod_costs
    inner join machine_costs using ({{ machine_time }})
),

-- by the cost that the pods' rows state; of a capacity block that is 0. What the machine costs is on the same side of discounts
kinds as (
    select
        *,
        case
            when is_net and net_cost > 0 then 'net_cost'
            when cost > 0 and not is_net and is_before_discounts then 'cost'
            when on_demand_cost > 0 and list_cost > 0 then 'on_demand_cost'
            when usage_ratio > 0 then 'usage_ratio'
        end as weighed_by
    from times
),

weights as (
    select
        {{ machine_time }},
        pods.tag_run_id,
        pods.run_tag,
        pods.workload_id,
        pods.jobset_id,
        pods.pod_id,
        pods.accelerator_ratio as chip_share,
        'pod' as pod_allocation,
        case kinds.weighed_by
            {%- for cost in ['net_cost', 'cost', 'on_demand_cost'] %}
            when '{{ cost }}' then {{ to_units('greatest(pods.' ~ cost ~ ', 0)', 12) }}
            {%- endfor %}
            else {{ to_units('greatest(pods.usage_ratio, 0)', 9) }}
        end as w
    from kinds
    inner join {{ ref('int_aws_pods') }} as pods using ({{ machine_time }})
    where kinds.weighed_by is not null and {{ in_build_months('pods.usage_month') }}

    union all

    -- what of the machine no pod was given
    select
        {{ machine_time }},
        {%- for name in ['tag_run_id', 'run_tag', 'workload_id', 'jobset_id', 'pod_id'] %}
        cast(null as string) as {{ name }},
        {%- endfor %}
        cast(0 as decimal(38, 9)) as chip_share,
        'unallocated' as pod_allocation,
        case weighed_by
            {%- for cost, whole in [('net_cost', 'stated_cost'), ('cost', 'stated_cost'), ('on_demand_cost', 'list_cost')] %}
            when '{{ cost }}' then {{ to_units('greatest(' ~ exact_sum([whole, '-' ~ cost], 12) ~ ', 0)', 12) }}
            {%- endfor %}
            else {{ to_units('greatest(' ~ exact_sum(['1', '-usage_ratio'], 9) ~ ', 0)', 9) }}
        end as w
    from kinds
    where weighed_by is not null
),

numbered as (
    select
        *,
        row_number() over (
            partition by {{ machine_time }}
            order by
                pod_allocation, coalesce(tag_run_id, ''), coalesce(workload_id, ''), coalesce(jobset_id, ''), coalesce(pod_id, '')
        ) as part_number
    from weights
    where w > 0
),

line_parts as (
    select
        lines.line_id as charge_id,
        case
            when numbered.pod_allocation = 'unallocated' then '~residual'
            else lpad(cast(numbered.part_number as string), 9, '0')
        end as part_id,
        numbered.w,
        numbered.part_number,
        numbered.pod_allocation,
        numbered.run_tag,
        numbered.workload_id,
        numbered.jobset_id,
        numbered.pod_id,
        numbered.chip_share
    from lines
    inner join numbered using ({{ machine_time }})
),

divided_lines as (
    select *, line_id as charge_id from lines
),

split as (
    {{ exact_split('divided_lines', 'line_parts', measures, 12) }}
)

select
    lines.line_id || '|pod-' || cast(line_parts.part_number as string) as line_id,
    lines.line_id as bill_line_id,
    line_parts.part_number,
    line_parts.chip_share,
    {{ cell_of('lines') }},
    lines.delivery_content_hash, lines.charge_period_start, lines.charge_period_end, lines.billing_currency, lines.resource_id,
    lines.instance_type,
    -- the pod's own before the machine's
    coalesce(line_parts.run_tag, lines.run_tag) as run_tag,
    line_parts.pod_allocation,
    line_parts.workload_id,
    line_parts.jobset_id,
    line_parts.pod_id,
    lines.has_invoice, lines.is_usage, lines.is_discount, lines.is_accelerator_type, lines.is_block_hour, lines.billed_us,
    lines.cost_component, lines.is_weight_borrowed, lines.accelerator_type, lines.line_count,
    {%- for measure in measures %}
    split.{{ measure }},
    {%- endfor %}
    split.w
from lines
inner join line_parts on lines.line_id = line_parts.charge_id
inner join split on line_parts.charge_id = split.charge_id and line_parts.part_id = split.part_id

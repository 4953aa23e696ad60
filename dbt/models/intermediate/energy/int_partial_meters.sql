{{ config(materialized='by_month') }}
{%- set meter = 'usage_month, resource_id, meter' %}
{%- set of_meter = 'nodes.usage_month, nodes.resource_id, nodes.meter' %}

with node_readings as (
    select
        *,
        -- what an earlier reading of this meter covered already is not counted again
        greatest(from_us, coalesce(max(to_us) over (
            partition by {{ meter }} order by from_us, to_us, power_uw rows between unbounded preceding and 1 preceding
        ), from_us)) as counted_from_us
    from {{ ref('int_node_readings') }}
    where {{ in_build_months() }}
),

nodes as (
    select distinct {{ meter }}, {{ machine_name('resource_id') }} as machine_name
    from node_readings
),

-- a profile is a moment of a run, not its hour
chip_readings as (
    select
        {{ of_meter }},
        readings.sample_to_us as to_us,
        readings.power_uw,
        greatest(readings.sample_from_us, coalesce(max(readings.sample_to_us) over (
            partition by {{ of_meter }}, readings.device_index
            order by readings.sample_from_us, readings.sample_to_us, readings.power_uw
            rows between unbounded preceding and 1 preceding
        ), readings.sample_from_us)) as counted_from_us
    from {{ ref('int_power_readings') }} as readings
    inner join nodes
        on readings.usage_month = nodes.usage_month and {{ machine_name('readings.host_id') }} = nodes.machine_name
    where readings.boundary = 'chip' and readings.power_uw is not null and not readings.is_sampled
),

-- where a reading begins it adds what it takes away where it ends: the sum up to an instant is what is read then
edges as (
    {%- for edge in ['counted_from_us', 'to_us'] %}
    {%- set sign = '' if loop.first else '-' %}
    select
        {{ meter }},
        {{ edge }} as at_us,
        cast({{ sign }}1 as bigint) as nodes_read,
        cast(0 as bigint) as chips_read,
        {{ sign }}power_uw as node_uw,
        cast(0 as bigint) as chips_uw,
        {{ sign }}asked_from_us as hour_us
    from node_readings
    where counted_from_us < to_us

    union all

    select
        {{ meter }},
        {{ edge }} as at_us,
        cast(0 as bigint) as nodes_read,
        cast({{ sign }}1 as bigint) as chips_read,
        cast(0 as bigint) as node_uw,
        {{ sign }}power_uw as chips_uw,
        cast(0 as bigint) as hour_us
    from chip_readings
    where counted_from_us < to_us
    {%- if loop.first %}

    union all
    {% endif %}
    {%- endfor %}
),

instants as (
    select
        {{ meter }},
        at_us
        {%- for column in ['nodes_read', 'chips_read', 'node_uw', 'chips_uw', 'hour_us'] %},
        cast(sum({{ column }}) as bigint) as {{ column }}
        {%- endfor %}
    from edges
    group by all
),

stretches as (
    select
        {{ meter }},
        at_us,
        cast(lead(at_us) over (partition by {{ meter }} order by at_us) - at_us as decimal(18, 0)) as stretch_us
        {%- for column in ['nodes_read', 'chips_read', 'node_uw', 'chips_uw', 'hour_us'] %},
        cast(sum({{ column }}) over (
            partition by {{ meter }} order by at_us rows between unbounded preceding and current row
        ) as bigint) as {{ column }}
        {%- endfor %}
    from instants
),

-- over the time in which both are read: at one moment a load that changes may be seen high by one meter and low by the other
asked as (
    select
        {{ meter }},
        hour_us as asked_from_us,
        min(at_us) as both_from_us,
        cast(max(at_us + stretch_us) as bigint) as both_to_us,
        cast(sum(stretch_us) as decimal(38, 0)) as both_us,
        cast(sum(cast(node_uw as decimal(19, 0)) * stretch_us) as decimal(38, 0)) as node_uw_us,
        cast(sum(cast(chips_uw as decimal(19, 0)) * stretch_us) as decimal(38, 0)) as chips_uw_us
    from stretches
    where nodes_read > 0 and chips_read > 0 and stretch_us > 0
    group by all
)

select *
from asked
where node_uw_us < chips_uw_us

{%- set bounds = ['chip_least_uw', 'chip_most_uw', 'node_least_uw', 'node_most_uw', 'least_chips', 'most_chips'] %}

with limits as (
    select
        {%- for doubt in ['chip_least_share_of_idle', 'chip_most_share_of_full', 'node_most_share'] %}
        max(case when doubt = '{{ doubt }}' then {{ to_units('value', 6) }} end) as {{ doubt }}_ppm{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ ref('power_doubts') }}
),

types as (
    select
        accelerator_type,
        types.accelerator_family,
        types.chips_per_node,
        {{ to_units('power.chip_power_idle_w_low', 6) }} as idle_uw,
        {{ to_units('power.chip_power_max_w_high', 6) }} as full_uw,
        {{ cut_up(to_units('host.host_power_w_high', 6), 'cast(host.chips_per_node as decimal(38, 0))') }} as host_uw
    from {{ ref('accelerator_types') }} as types
    left join {{ ref('accelerator_power') }} as power using (accelerator_type)
    left join {{ ref('host_power') }} as host using (accelerator_type)
),

-- a type whose watts nobody publishes has the widest of its family
types_with_watts as (
    select
        accelerator_type,
        accelerator_family,
        chips_per_node,
        coalesce(idle_uw, min(idle_uw) over (partition by accelerator_family)) as idle_uw,
        coalesce(full_uw, max(full_uw) over (partition by accelerator_family)) as full_uw,
        coalesce(host_uw, max(host_uw) over (partition by accelerator_family)) as host_uw
    from types
),

-- a node by its chips: none of them draws less than idle, and all of them with their host at most so many times their full power
bands as (
    select
        types.accelerator_type as band,
        types.accelerator_family,
        cast({{ int_div('types.idle_uw * limits.chip_least_share_of_idle_ppm', '1000000') }} as bigint) as chip_least_uw,
        cast({{ int_div('types.full_uw * limits.chip_most_share_of_full_ppm', '1000000') }} as bigint) as chip_most_uw,
        cast(types.idle_uw as bigint) as node_least_uw,
        cast({{ int_div('(types.full_uw + types.host_uw) * limits.node_most_share_ppm', '1000000') }} as bigint) as node_most_uw,
        -- TPU machines are sold in sizes, as others of which the catalogue has no number of chips
        case when types.accelerator_family = 'tpu' then 1 else coalesce(types.chips_per_node, 1) end as least_chips,
        coalesce(types.chips_per_node, max(types.chips_per_node) over (partition by types.accelerator_family)) as most_chips
    from types_with_watts as types
    cross join limits
)

select
    band,
    {{ bounds | join(', ') }}
from bands

union all
{% for family in ['accelerator_family', "''"] %}
-- of a type that is not in the catalogue the widest of its family, without a family the widest of all
select
    {{ family }} as band,
    {%- for bound in bounds %}
    {{ 'min' if 'least' in bound else 'max' }}({{ bound }}) as {{ bound }}{{ ',' if not loop.last }}
    {%- endfor %}
from bands
{% if loop.first -%}
group by accelerator_family

union all
{% endif %}
{%- endfor %}

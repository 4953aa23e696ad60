{{ config(materialized='by_month', meta={'empty_without': ['int_named_charges']}) }}

with held_resources as (
    select usage_month, resource_id as held_resource_id, max(node_chips) as node_chips
    from {{ ref('int_month_holdings') }}
    where resource_id is not null
    group by all
),

resource_charges as (
    select
        charges.*,
        held_resources.node_chips,
        -- a pool, a reservation and a cluster grow and shrink: of them the billed chips count, hour by hour
        case
            when charges.breadth > 0 and charges.cluster_us is null then {{ int_div(
                'cast(greatest(' ~ to_units("coalesce(case when lines.instance_type in ('v2', 'v3', 'v4') then "
                ~ exact_multiple('lines.priced_usage', 4, 9) ~ " else lines.priced_usage end, 0)", 9) ~ ', 0) * 36 as decimal(38, 0))',
                'cast(10 as decimal(38, 0))'
            ) }}
        end as own_chip_us
    from {{ ref('int_named_charges') }} as charges
    left join held_resources using (usage_month, held_resource_id)
    left join {{ ref('int_recorded_accelerators') }} as recorded
        on
            charges.usage_month = recorded.usage_month
            and charges.provider_name = recorded.provider_name
            and charges.sub_account_id = recorded.sub_account_id
            and coalesce(charges.instance_type, '') = recorded.instance_type
    left join {{ built_months_of(ref('int_gcp_lines')) }} as lines
        -- one equality: a condition on the left side alone would make this a comparison of every pair
        on
            case when charges.breadth > 0 then charges.line_id end = lines.line_id
            and charges.usage_month = lines.usage_month
    where {{ in_build_months('charges.usage_month') }} and charges.is_usage and charges.is_accelerator_type
    and not charges.is_twin
    -- the parts of its pods are of one time of the machine
    and coalesce(charges.part_number, 1) = 1
    -- a row of a cluster of HyperPod has the hours of all its machines of one type, not of one of them
    and (charges.cluster_us is null or {{ cluster_of_machines('charges.held_resource_id') }} <> '')
    -- a paid block hour is a machine's hour even where no record names the machine, if records name others of its kind
    and (
        held_resources.held_resource_id is not null
        or (charges.is_block_hour and charges.held_resource_id = charges.resource_id and recorded.usage_month is not null)
    )
),

-- one interval of a machine may be billed in several rows (chips, a commitment): it is one time, of the first cell by name
timed_charges as (
    select
        *,
        case
            -- the hours of a segment are all as long as the first
            when billed_us is not null then cast(billed_us * line_count as decimal(38, 0))
            when row_number() over (
                partition by provider_name, held_resource_id, charge_period_start, charge_period_end
                order by {{ cell() }}, instance_type
            ) = 1 then {{ microseconds('charge_period_start', 'charge_period_end') }}
            else 0
        end as time_us
    from resource_charges
)

select
    {{ cell_of('timed_charges') }},
    timed_charges.held_resource_id as resource_id,
    max(coalesce(types.accelerator_type, timed_charges.instance_type)) as accelerator_type,
    cast(sum(
        coalesce(timed_charges.own_chip_us, timed_charges.time_us * case
            when timed_charges.billed_us is not null then coalesce(types.chips_per_node, timed_charges.node_chips, 0)
            else coalesce(timed_charges.node_chips, types.chips_per_node, 0)
        end)
    ) as decimal(38, 0)) as billed_chip_us
from timed_charges
left join {{ ref('accelerator_types') }} as types on timed_charges.instance_type = types.accelerator_type
group by all

{%- set rows_of = ['int_resource_bills', 'int_node_spans where node_chips > span_chips'] %}
{{ config(materialized='by_month', meta={'empty_without': rows_of}) }}

with held_machines as (
    select
        usage_month,
        resource_id,
        min(accelerator_type) as accelerator_type,
        {{ chip_time('least(span_chips, node_chips)', 'span_us') }} as held_us,
        {{ chip_time('greatest(node_chips - span_chips, 0)', 'span_us') }} as free_us
    from (
        select
            usage_month,
            resource_id,
            cast(span_to_us - span_from_us as decimal(18, 0)) as span_us,
            node_chips,
            span_chips,
            min(accelerator_type) as accelerator_type
        from {{ ref('int_node_spans') }}
        group by usage_month, resource_id, span_from_us, span_to_us, node_chips, span_chips
    ) as spans
    group by all
),

-- a machine billed in two cells counts in the one where most of it was billed
main_bills as (
    select
        *,
        {{ cell_id() }} as cell_id,
        cast(sum(billed_chip_us) over (partition by usage_month, resource_id) as decimal(38, 0)) as machine_us
    from {{ ref('int_resource_bills') }}
    qualify row_number() over (partition by usage_month, resource_id order by billed_chip_us desc, {{ cell_id() }}) = 1
),

machines as (
    select
        usage_month,
        resource_id,
        coalesce(held_machines.accelerator_type, main_bills.accelerator_type) as accelerator_type,
        main_bills.cell_id,
        main_bills.region_id,
        greatest(
            coalesce(main_bills.machine_us, 0) - coalesce(held_machines.held_us, 0), coalesce(held_machines.free_us, 0), 0
        ) as reserve_us
    from held_machines
    full outer join main_bills using (usage_month, resource_id)
),

regions as (
    select usage_month, resource_id, min(region_id) as region_id
    from {{ ref('int_resource_regions') }}
    group by all
),

unknown_ends as (
    select distinct usage_month, resource_id from {{ ref('int_month_holdings') }}
    where held_to is null and resource_id is not null
),

-- what free chips did, beyond being there: the use where no power is known, the driver's share, and watts
free_use as (
    select
        usage_month,
        resource_id,
        sum(chip_use.used_ppm_us - chip_use.powered_ppm_us + chip_use.driven_ppm_us) as used_ppm_us,
        sum(chip_use.metered_us) as metered_us,
        sum(chip_use.metered_uw_us) as metered_uw_us
    from {{ ref('int_chip_use') }} as chip_use
    inner join {{ ref('int_node_times') }} as times using (usage_month, resource_id, span_from_us)
    where chip_use.training_run_id is null and times.node_uw_us is null
    group by all
),

-- of what was read at the node the part of its free chips, with their part of the host
free_nodes as (
    select
        usage_month,
        resource_id,
        {{ chip_time('free_chips', 'span_us') }} as metered_us,
        sum({{ int_div(
            'cast(node_uw_us * ' ~ millionths('free_chips') ~ ' as decimal(38, 0))', millionths('node_chips')
        ) }}) as uw_us
    from (
        select
            usage_month,
            resource_id,
            node_chips,
            node_chips - coalesce(span_chips, 0) as free_chips,
            cast(sum(node_uw_us) as decimal(38, 0)) as node_uw_us,
            sum(cast(span_to_us - span_from_us as decimal(18, 0))) as span_us
        from {{ ref('int_node_times') }}
        where node_uw_us is not null and node_chips > coalesce(span_chips, 0)
        group by all
    ) as metered_spans
    group by all
),

machines_with_power as (
    select
        machines.usage_month,
        coalesce(machines.cell_id, 'machine|' || machines.resource_id || '|' || cast(machines.usage_month as string)) as pool_id,
        coalesce(types.provider_name, places.provider_name) as provider_name,
        coalesce(nullif(machines.region_id, ''), regions.region_id, '') as region_id,
        cast(greatest(
            machines.reserve_us - coalesce(free_nodes.metered_us, 0) - coalesce(free_use.metered_us, 0), 0
        ) as decimal(38, 0)) as modelled_us,
        cast(greatest(machines.reserve_us - coalesce(free_nodes.metered_us, 0), 0) as decimal(38, 0)) as host_us,
        cast(coalesce(free_use.metered_uw_us, 0) as decimal(38, 0)) as metered_uw_us,
        cast(coalesce(free_nodes.uw_us, 0) as decimal(38, 0)) as node_uw_us,
        {{ to_units(chip_power('idle'), 6) }} as idle_uw,
        -- no more than the free chip time at full use
        cast(least(coalesce(free_use.used_ppm_us, 0), 1000000 * machines.reserve_us) as decimal(38, 0)) as used_ppm_us,
        {{ to_units(chip_power('max'), 6) }} as max_uw,
        {{ to_units('host.host_power_w_mid', 6) }} as host_uw,
        cast(host.chips_per_node as decimal(38, 0)) as host_chips,
        cast(1000000 + {{ to_units('overhead.network_storage_share_mid', 6) }} as decimal(38, 0)) as it_factor,
        {{ to_units('pue.pue_ratio', 4) }} as pue_units
    from machines
    left join regions using (usage_month, resource_id)
    left join unknown_ends using (usage_month, resource_id)
    left join free_use using (usage_month, resource_id)
    left join free_nodes using (usage_month, resource_id)
    left join {{ ref('accelerator_types') }} as types using (accelerator_type)
    left join {{ ref('accelerator_power') }} as power using (accelerator_type)
    left join {{ ref('host_power') }} as host using (accelerator_type)
    -- of a chip as schedulers name it the region shows whose machine it is in
    left join {{ ref('regions') }} as places on coalesce(nullif(machines.region_id, ''), regions.region_id, '') = places.region_id
    left join {{ ref('it_overhead') }} as overhead
        on coalesce(types.provider_name, places.provider_name) = overhead.provider_name
    left join {{ ref('int_region_pue') }} as pue
        on
            machines.usage_month = pue.usage_month
            and coalesce(types.provider_name, places.provider_name) = pue.provider_name
            and coalesce(nullif(machines.region_id, ''), regions.region_id, '') = pue.region_id
    left join {{ ref('int_own_figures_by_place') }} as own
        on
            machines.usage_month = own.usage_month
            and own.training_run_id = ''
            and coalesce(nullif(machines.region_id, ''), regions.region_id, '') = own.region_id
            and machines.accelerator_type = own.accelerator_type
    left join {{ ref('int_calibrated_power') }} as calibrated
        on
            machines.usage_month = calibrated.usage_month
            and calibrated.training_run_id = ''
            and machines.accelerator_type = calibrated.accelerator_type
    -- of a machine that a run held until an unknown time, it is unknown how much was left
    where machines.reserve_us > 0 and unknown_ends.resource_id is null and {{ in_build_months('machines.usage_month') }}
),

machine_energy as (
    select
        *,
        cast(it_factor * pue_units as decimal(38, 0)) as factor,
        cast(
            cast(idle_uw * modelled_us as decimal(38, 0))
            + metered_uw_us
            + node_uw_us
            + {{ int_div('cast((max_uw - idle_uw) * used_ppm_us as decimal(38, 0))', 'cast(1000000 as decimal(38, 0))') }}
            + {{ int_div('cast(host_uw * host_us as decimal(38, 0))', 'host_chips') }}
            as decimal(38, 0)
        ) as uw_us
    from machines_with_power
),

facilities as (
    select *, {{ kwh_part('uw_us', '//', 'factor', 10) }} as whole, {{ kwh_part('uw_us', '%', 'factor', 10) }} as rest
    from machine_energy
),

pools as (
    -- a pool is of one cell or of one machine, so of one region
    select
        pool_id as charge_id,
        usage_month,
        max(provider_name) as provider_name,
        max(region_id) as region_id,
        {{ kwh_of_parts(whole_sum('whole', 'decimal(38, 0)'), whole_sum('rest', 'decimal(38, 0)'), 10) }} as facility_energy_kwh
    from facilities
    group by pool_id, usage_month
),

parts as (
    select {{ cell_id() }} as charge_id, training_run_id as part_id, {{ to_units('sum(weight)', 12) }} as w
    from {{ ref('int_cell_parts') }}
    where training_run_id is not null and weight > 0 and {{ in_build_months() }}
    group by all

    union all

    select
        'machine|' || resource_id || '|' || cast(usage_month as string) as charge_id,
        training_run_id as part_id,
        cast(sum(
            cast({{ millionths('coalesce(run_chips, 1)') }} * cast(span_to_us - span_from_us as decimal(18, 0)) as decimal(38, 0))
        ) as decimal(38, 0)) as w
    from {{ ref('int_node_spans') }}
    -- a run without chips there holds none of the machine
    where not is_ambiguous and coalesce(run_chips, 1) > 0 and {{ in_build_months() }}
    group by all
),

split as (
    {{ exact_split('pools', 'parts', ['facility_energy_kwh'], 9) }}
)

select
    pools.usage_month,
    charge_id as pool_id,
    pools.provider_name,
    pools.region_id,
    split.part_id as training_run_id,
    split.facility_energy_kwh
from split
inner join pools using (charge_id)

{{ config(materialized='by_month') }}

with charges as (
    select * from {{ ref('int_charges') }}
    where {{ in_build_months() }} and is_usage and is_accelerator_type and fixed_reason is null
),

held_resources as (
    select resource_id, max(chips_per_node * node_count) as node_chips, max(record_chips) as held_chips
    from (
        select
            *,
            -- a managed job's machines of several kinds share its one name, so their chips add up
            case
                when is_managed_job
                    then cast(sum(held_chips) over (partition by training_run_id, resource_id, started_at, ended_at) as bigint)
                else held_chips
            end as record_chips
        from {{ ref('int_run_holdings') }}
    ) as holdings
    where resource_id is not null
    group by all
),

resource_charges as (
    select *, resource_id as held_resource_id from charges
    where resource_id in (select held_resources.resource_id from held_resources)

    union all

    select *, other_resource_id as held_resource_id from charges
    where
        other_resource_id in (select held_resources.resource_id from held_resources)
        and other_resource_id is distinct from resource_id

    union all

    -- a managed job is its own resource in its record
    select *, job_id as held_resource_id from charges
    where
        job_id in (select held_resources.resource_id from held_resources)
        and job_id is distinct from resource_id
        and job_id is distinct from other_resource_id

    union all

    -- a paid block hour is a machine's hour even where no record names the machine
    select *, resource_id as held_resource_id from charges
    where is_block_hour and resource_id is not null and resource_id not in (select held_resources.resource_id from held_resources)
),

-- one interval of a machine may be billed in several rows (chips, a commitment): it is one time
timed_charges as (
    select
        *,
        case
            when billed_us is not null then billed_us
            when row_number() over (
                partition by provider_name, held_resource_id, charge_period_start, charge_period_end order by line_id
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
        timed_charges.time_us * case
            when timed_charges.billed_us is not null
                then coalesce(types.chips_per_node, held_resources.node_chips, held_resources.held_chips, 0)
            else greatest(
                coalesce(held_resources.node_chips, held_resources.held_chips, types.chips_per_node, 0),
                coalesce(held_resources.held_chips, 0)
            )
        end
    ) as decimal(38, 0)) as billed_chip_us
from timed_charges
left join held_resources on timed_charges.held_resource_id = held_resources.resource_id
left join {{ ref('accelerator_types') }} as types on timed_charges.instance_type = types.accelerator_type
group by all

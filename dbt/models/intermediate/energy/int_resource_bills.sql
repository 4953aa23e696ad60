{{ config(materialized='incremental', incremental_strategy='append', pre_hook="{{ delete_build_months() }}") }}

with charges as (
    select * from {{ ref('int_charges') }}
    where {{ in_build_months() }} and is_usage and is_accelerator_type and fixed_reason is null
),

known as (
    select resource_id, max(chips_per_node * node_count) as node_chips, max(record_chips) as held_chips
    from (
        select
            *,
            -- the kinds of machines a managed job has stand under its one name, side by side
            case
                when is_managed_job then cast(sum(held_chips) over (partition by training_run_id, resource_id, started_at, ended_at) as bigint)
                else held_chips
            end as record_chips
        from {{ ref('int_run_holdings') }}
    ) as holdings
    where resource_id is not null
    group by resource_id
),

named as (
    select *, resource_id as held_resource_id from charges
    where resource_id in (select known.resource_id from known)

    union all

    select *, other_resource_id as held_resource_id from charges
    where other_resource_id in (select known.resource_id from known) and other_resource_id is distinct from resource_id

    union all

    -- a managed job is its own resource in its record
    select *, job_id as held_resource_id from charges
    where
        job_id in (select known.resource_id from known)
        and job_id is distinct from resource_id
        and job_id is distinct from other_resource_id

    union all

    -- a paid block hour stands for a machine even where no record names it
    select *, resource_id as held_resource_id from charges
    where is_block_hour and resource_id is not null and resource_id not in (select known.resource_id from known)
),

-- one interval of a machine may be billed in several rows (chips, a commitment): it is one time
timed as (
    select
        named.*,
        case
            when named.billed_us is not null then named.billed_us
            when row_number() over (
                partition by named.provider_name, named.held_resource_id, named.charge_period_start, named.charge_period_end
                order by named.line_id
            ) = 1 then {{ microseconds('named.charge_period_start', 'named.charge_period_end') }}
            else 0
        end as time_us
    from named
)

select
    {{ cell_of('timed') }},
    timed.held_resource_id as resource_id,
    max(coalesce(types.accelerator_type, timed.instance_type)) as accelerator_type,
    cast(sum(
        timed.time_us * case
            when timed.billed_us is not null then coalesce(types.chips_per_node, known.node_chips, known.held_chips, 0)
            else greatest(coalesce(known.node_chips, known.held_chips, types.chips_per_node, 0), coalesce(known.held_chips, 0))
        end
    ) as decimal(38, 0)) as billed_chip_us
from timed
left join known on timed.held_resource_id = known.resource_id
left join {{ ref('accelerator_types') }} as types on timed.instance_type = types.accelerator_type
group by {{ cell_of('timed') }}, timed.held_resource_id

-- what the records say of each machine that telemetry met
with machines as (
    select
        usage_month,
        training_run_id,
        coalesce({{ machine_name('resource_id') }}, '') as met_machine,
        accelerator_type as recorded_type,
        max(machine_chips) as machine_chips,
        max(node_chips) as node_chips
    from {{ ref('int_month_holdings') }}
    where not is_ambiguous
    group by all
),

machines_met as (
    select
        matches.*,
        machines.recorded_type,
        coalesce(machines.machine_chips, types.chips_per_node) as machine_chips,
        machines.node_chips,
        machines.machine_chips is null as is_by_document,
        -- one record may name machines of several types under one name
        bool_or(coalesce(matches.accelerator_type = machines.recorded_type, true)) over (
            partition by
                matches.usage_month, matches.source_name, matches.host, matches.run_key, matches.training_run_id,
                matches.met_machine, matches.accelerator_type, matches.device_count
        ) as is_type_recorded,
        bool_or(coalesce(matches.device_count = coalesce(machines.machine_chips, types.chips_per_node), true)) over (
            partition by
                matches.usage_month, matches.source_name, matches.host, matches.run_key, matches.training_run_id,
                matches.met_machine, matches.accelerator_type, matches.device_count
        ) as is_count_recorded
    from {{ ref('int_telemetry_matches') }} as matches
    inner join machines using (usage_month, training_run_id, met_machine)
    left join {{ ref('accelerator_types') }} as types on matches.accelerator_type = types.accelerator_type
    where matches.matched_sample_count > 0
)

select distinct
    usage_month,
    source_name,
    host,
    run_key,
    training_run_id,
    'type' as what,
    'run records' as evidence,
    recorded_type as recorded_value,
    accelerator_type as telemetry_value
from machines_met
where not is_type_recorded

union

-- a document states how many devices its machine has
select distinct
    usage_month,
    source_name,
    host,
    run_key,
    training_run_id,
    'devices' as what,
    case when is_by_document then 'type in the documents' else 'run records' end as evidence,
    cast(machine_chips as string) as recorded_value,
    cast(device_count as string) as telemetry_value
from machines_met
where not is_count_recorded

union

-- points name the chips they are of: fewer may be missing points, more are another machine
select distinct
    usage_month,
    source_name,
    host,
    run_key,
    training_run_id,
    'devices' as what,
    'run records' as evidence,
    cast(node_chips as string) as recorded_value,
    cast(seen_chips as string) as telemetry_value
from machines_met
where not is_document and seen_chips > node_chips

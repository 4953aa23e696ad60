{{ config(materialized='by_month', meta={'empty_without': ['int_telemetry_matches']}) }}

-- what the records say of each machine that telemetry met
with machines as (
    select
        usage_month,
        training_run_id,
        coalesce({{ machine_name('resource_id') }}, '') as met_machine,
        accelerator_type as recorded_type,
        max(machine_chips) as machine_chips,
        min(coalesce(recorded_chips, machine_chips)) as run_chips,
        max(node_chips) as node_chips
    from {{ ref('int_month_holdings') }}
    where not is_ambiguous
    group by all
),

machines_met as (
    select
        matches.*,
        machines.recorded_type,
        machines.node_chips,
        machines.machine_chips is null as is_by_document,
        coalesce(machines.machine_chips, types.chips_per_node) as machine_chips,
        -- a container may see only the devices that its run was given
        coalesce(machines.run_chips, machines.machine_chips, types.chips_per_node) as run_chips,
        -- a scheduler may know the chip (h100) and not the machine (p5.48xlarge)
        recorded_types.chips_per_node is null and types.chip_name like recorded_types.chip_name || '%' as is_its_chip
    from {{ ref('int_telemetry_matches') }} as matches
    inner join machines using (usage_month, training_run_id, met_machine)
    left join {{ ref('accelerator_types') }} as types on matches.accelerator_type = types.accelerator_type
    left join {{ ref('accelerator_types') }} as recorded_types on machines.recorded_type = recorded_types.accelerator_type
    where matches.matched_sample_count > 0
),

-- a record may name machines of several types under one name: one that agrees is enough
machines_compared as (
    select
        *
        {%- for name, agrees in [
            ('is_type_recorded', 'accelerator_type = recorded_type or coalesce(is_its_chip, false)'),
            ('is_count_recorded', 'device_count between run_chips and machine_chips'),
        ] %},
        bool_or(coalesce({{ agrees }}, true)) over (
            partition by
                usage_month, source_name, host, run_key, training_run_id, met_machine, accelerator_type, device_count
        ) as {{ name }}
        {%- endfor %}
    from machines_met
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
from machines_compared
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
    cast(case when device_count > machine_chips then machine_chips else run_chips end as string) as recorded_value,
    cast(device_count as string) as telemetry_value
from machines_compared
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
from machines_compared
where not is_document and seen_chips > node_chips

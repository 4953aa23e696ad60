{#- kinds of evidence: our own record, what starts jobs, jobs; of logs each -#}
{%- set kind = "case when system_rank = '4' then '4' || record_system else system_rank end" %}
{%- set minute = 60000000 %}

with evidence as (
    select training_run_id, kind, {{ in_one_text('record_system') }} as systems
    from (
        select distinct training_run_id, record_system, {{ kind }} as kind from {{ ref('int_run_records') }}
        where not is_ambiguous
    ) as systems_of_runs
    group by all
),

attempts as (
    select
        training_run_id,
        state,
        started_at,
        ended_at,
        {{ kind }} as kind,
        row_number() over (
            partition by training_run_id, {{ kind }}
            order by started_at desc nulls last, row_number desc, attempt_id desc, state desc, ended_at desc nulls last
        ) as recency
    from {{ ref('int_recorded_attempts') }}
    where not is_ambiguous
),

times as (
    select
        training_run_id,
        kind,
        -- what goes on, or is not known, contradicts nothing
        max(case when recency = 1 and state not in ('running', 'unknown') then state end) as state,
        {{ instant_us('min(started_at)') }} as from_us,
        case when count(*) = count(ended_at) then {{ instant_us('max(ended_at)') }} end as to_us
    from attempts
    group by all
),

nodes as (
    select
        nodes.training_run_id,
        nodes.resource_id,
        nodes.node_count,
        nodes.started_at,
        nodes.ended_at,
        nodes.accelerator_type,
        types.chip_name,
        types.chip_name is not null and types.chips_per_node is null as is_chip,
        cast(coalesce(nodes.chips, types.chips_per_node) * nodes.node_count as decimal(18, 6)) as held_chips,
        {{ kind }} as kind
    from {{ ref('int_recorded_nodes') }} as nodes
    left join {{ ref('accelerator_types') }} as types using (accelerator_type)
    where not nodes.is_ambiguous and nodes.started_at is not null and nodes.ended_at > nodes.started_at
),

machines as (
    select distinct
        training_run_id, kind, coalesce(resource_id, '') as resource_id, accelerator_type, chip_name, is_chip, node_count
    from nodes
),

machine_counts as (
    select training_run_id, kind, cast(sum(node_count) as bigint) as machine_count, {{ in_one_text('resource_id') }} as names
    from (select distinct training_run_id, kind, resource_id, node_count from machines) as distinct_machines
    group by all
),

types as (
    select
        training_run_id,
        kind,
        {{ in_one_text('accelerator_type') }} as accelerator_types,
        min(chip_name) as chip_name,
        max(case when is_chip then 1 else 0 end) as chip_only
    from (select distinct training_run_id, kind, accelerator_type, chip_name, is_chip from machines) as distinct_types
    where accelerator_type is not null
    group by all
),

chip_levels as (
    select
        training_run_id,
        kind,
        chips,
        sum(coalesce(chips, 0)) over (
            partition by training_run_id, kind order by happened_at, chips rows between unbounded preceding and current row
        ) as chips_held
    from (
        select training_run_id, kind, started_at as happened_at, held_chips as chips from nodes
        union all
        select training_run_id, kind, ended_at as happened_at, -held_chips as chips from nodes
    ) as events
),

chips as (
    select training_run_id, kind, case when count(*) = count(chips) then cast(max(chips_held) as decimal(18, 6)) end as chip_count
    from chip_levels
    group by all
),

shared_names as (
    select machines.training_run_id, machines.kind, others.kind as other_kind, count(distinct resource_id) as shared_count
    from machines
    inner join machines as others using (training_run_id, resource_id)
    where machines.kind < others.kind
    group by all
),

statements as (
    select
        training_run_id,
        kind,
        'state' as field,
        state as value,
        cast(null as string) as compared,
        cast(null as bigint) as number
    from times
    union all
    select
        training_run_id, kind, 'started_at' as field, cast({{ timestamp_of('from_us') }} as string) as value, null as compared,
        from_us as number
    from times
    union all
    select
        training_run_id, kind, 'ended_at' as field, cast({{ timestamp_of('to_us') }} as string) as value, null as compared,
        to_us as number
    from times
    union all
    select
        training_run_id, kind, 'machines' as field, cast(machine_count as string) as value, names as compared,
        machine_count as number
    from machine_counts
    union all
    select
        training_run_id, kind, 'chips' as field, {{ chips_in_text('chip_count') }} as value, null as compared, null as number
    from chips
    union all
    select
        training_run_id, kind, 'accelerator_type' as field, accelerator_types as value, chip_name as compared, chip_only as number
    from types
),

-- the first kind that states a thing is chosen
ranked as (
    select
        statements.*,
        evidence.systems,
        chips.chip_count,
        row_number() over (partition by training_run_id, statements.field order by kind) as field_rank
    from statements
    inner join evidence using (training_run_id, kind)
    left join chips using (training_run_id, kind)
    where statements.value is not null
),

pairs as (
    select
        chosen.training_run_id,
        field,
        chosen.systems as source_a,
        chosen.value as value_a,
        other.systems as source_b,
        other.value as value_b,
        chosen.compared as compared_a,
        other.compared as compared_b,
        -- names are compared where both kinds call machines alike: a scheduler has names of its own
        field = 'machines' and chosen.number = other.number and shared_names.shared_count < chosen.number as is_by_name,
        case
            -- a log begins and ends within its job
            when field = 'started_at'
                then
                    chosen.number - other.number > {{ minute }}
                    or (other.number - chosen.number > {{ minute }} and other.kind < '4')
            when field = 'ended_at'
                then
                    other.number - chosen.number > {{ minute }}
                    or (chosen.number - other.number > {{ minute }} and other.kind < '4')
            -- a slice may be recorded as one machine with all its chips
            when field = 'machines'
                then
                    chosen.number <> other.number
                    and not coalesce(least(chosen.number, other.number) = 1 and chosen.chip_count = other.chip_count, false)
            -- a scheduler may know the chip (h100) and not the machine (p5.48xlarge)
            when field = 'accelerator_type'
                then
                    chosen.value <> other.value
                    and not coalesce(
                        greatest(chosen.number, other.number) = 1
                        and (chosen.compared like other.compared || '%' or other.compared like chosen.compared || '%'),
                        false
                    )
            else chosen.value <> other.value
        end as is_other
    from ranked as chosen
    inner join ranked as other using (training_run_id, field)
    left join shared_names
        on
            chosen.training_run_id = shared_names.training_run_id
            and chosen.kind = shared_names.kind
            and other.kind = shared_names.other_kind
    where chosen.field_rank = 1 and other.field_rank > 1
)

select
    training_run_id,
    field,
    source_a,
    case when is_by_name then compared_a else value_a end as value_a,
    source_b,
    case when is_by_name then compared_b else value_b end as value_b,
    case when is_by_name then compared_a else value_a end as chosen
from pairs
where is_other or is_by_name

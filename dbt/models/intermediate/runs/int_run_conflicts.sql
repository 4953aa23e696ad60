{{ config(materialized='by_month') }}

with holdings as (
    select distinct usage_month, resource_id, training_run_id, held_from, held_to
    from {{ ref('int_month_holdings') }}
    where not is_ambiguous and {{ in_build_months() }}
),

-- of the few machines that were held for longer than they were billed; of all others no slice is compared with a holding
cut_machines as (
    select distinct usage_month, resource_id from {{ ref('int_held_slices') }}
    where billed_to < slice_to and {{ in_build_months() }}
),

held_times as (
    select
        holdings.training_run_id,
        usage_month,
        resource_id,
        bool_and(slices.is_final) as is_final,
        cast(sum(slices.slice_to - slices.slice_from) as decimal(38, 0)) as held_us,
        cast(sum(slices.billed_to - slices.slice_from) as decimal(38, 0)) as billed_us
    from {{ ref('int_held_slices') }} as slices
    inner join cut_machines using (usage_month, resource_id)
    inner join holdings using (usage_month, resource_id)
    where
        {{ instant_us('holdings.held_from') }} <= slices.slice_from and {{ instant_us('holdings.held_to') }} >= slices.slice_to
    group by all
),

-- likewise the few of which runs together may claim more chips than there are
sizes as (
    select usage_month, resource_id, min(node_chips) as least_chips
    from {{ ref('int_month_holdings') }}
    where held_to is not null and {{ in_build_months() }}
    group by all
),

chip_changes as (
    {%- for instant, sign in [('held_from', ''), ('held_to', '-')] %}
    {{ 'union all' if not loop.first }}
    select usage_month, resource_id, {{ instant }} as instant, {{ sign }}held_chips as chips
    from {{ ref('int_month_holdings') }}
    where held_from < held_to and held_chips > 0 and not is_managed_job and {{ in_build_months() }}
    {%- endfor %}
),

chips_together as (
    select
        usage_month,
        resource_id,
        sum(sum(chips)) over (
            partition by usage_month, resource_id order by instant rows between unbounded preceding and current row
        ) as chips
    from chip_changes
    group by usage_month, resource_id, instant
),

crowded_machines as (
    select distinct usage_month, resource_id
    from chips_together
    inner join sizes using (usage_month, resource_id)
    where chips_together.chips > sizes.least_chips
),

-- what runs claim of a machine at one time; of a pool and a cluster it is not known how large it is
claims as (
    select
        slices.usage_month,
        slices.resource_id,
        slices.slice_from,
        holdings.training_run_id,
        holdings.is_ambiguous,
        holdings.held_chips,
        holdings.node_chips
    from {{ ref('int_held_slices') }} as slices
    inner join crowded_machines using (usage_month, resource_id)
    inner join {{ ref('int_month_holdings') }} as holdings using (usage_month, resource_id)
    where
        {{ instant_us('holdings.held_from') }} <= slices.slice_from
        and {{ instant_us('holdings.held_to') }} >= slices.slice_to
        and not holdings.is_managed_job
        and (holdings.is_size_inferred or not {{ matches('slices.resource_id', '(^|/|:)(clusters?|nodePools|reservations)/') }})
        and {{ in_build_months('slices.usage_month') }}
),

claimed as (
    select
        usage_month,
        resource_id,
        slice_from,
        cast(sum(held_chips) as decimal(18, 6)) as claimed_chips,
        max(node_chips) as node_chips
    from claims
    group by all
    having sum(held_chips) > max(node_chips)
),

oversubscribed as (
    select
        usage_month,
        resource_id,
        claims.training_run_id,
        max(claimed.claimed_chips) as claimed_chips,
        max(claimed.node_chips) as node_chips
    from claims
    inner join claimed using (usage_month, resource_id, slice_from)
    where not claims.is_ambiguous
    group by usage_month, resource_id, claims.training_run_id
),

twins as (
    select distinct
        usage_month,
        held_resource_id as resource_id,
        split_part(machine_place, '|', 1) || '/' || split_part(machine_place, '|', 3) as place
    from {{ ref('int_named_charges') }}
    where is_twin
),

places_of_twins as (
    select usage_month, resource_id, {{ in_one_text('place') }} as places
    from twins
    group by all
),

telemetry_conflicts as (
    select distinct
        usage_month,
        training_run_id,
        case what when 'type' then 'accelerator type' else 'devices' end
        || ' of ' || host || ' in ' || substr(cast(usage_month as string), 1, 7) as field,
        evidence,
        recorded_value,
        source_name,
        telemetry_value
    from {{ ref('int_telemetry_conflicts') }}
),

contradicted_tags as (
    select usage_month, line_id, tag_run_id
    from {{ ref('int_line_attributions') }}
    where is_conflict and {{ in_build_months() }}
),

line_holders as (
    select usage_month, line_id, {{ in_one_text('held.part_id') }} as holders
    from {{ ref('int_line_overlaps') }} as held
    inner join contradicted_tags using (usage_month, line_id)
    where held.part_id <> '~residual'
    group by usage_month, line_id
)

-- a tag names one run, the records show others on that resource then: time on the resource decides
select
    attributions.usage_month,
    attributions.tag_run_id as training_run_id,
    'resource ' || coalesce(charges.resource_id, charges.node_pool_name, charges.reservation_name) as field,
    'tag in ' || charges.source_name as source_a,
    attributions.tag_run_id as value_a,
    'run records' as source_b,
    min(line_holders.holders) as value_b,
    min(line_holders.holders) as chosen
from contradicted_tags as attributions
inner join {{ ref('int_charges') }} as charges using (usage_month, line_id)
inner join line_holders using (usage_month, line_id)
group by all

union all

-- a machine is not held for longer than it is billed: once the bill is final the time beyond is cut, until then it is only listed
select
    usage_month,
    training_run_id,
    'hours held of ' || resource_id || ' in ' || substr(cast(usage_month as string), 1, 7) as field,
    'run records' as source_a,
    cast({{ hours('held_us * 1000000') }} as string) as value_a,
    'bill' as source_b,
    cast({{ hours('billed_us * 1000000') }} as string) as value_b,
    cast(case when is_final then {{ hours('billed_us * 1000000') }} else {{ hours('held_us * 1000000') }} end as string) as chosen
from held_times
where billed_us < held_us

union all

-- telemetry of another type of machine, or of another number of devices, than the record or the document itself states
select
    usage_month,
    training_run_id,
    field,
    evidence as source_a,
    min(recorded_value) as value_a,
    'telemetry ' || source_name as source_b,
    {{ in_one_text('telemetry_value') }} as value_b,
    min(recorded_value) as chosen
from telemetry_conflicts
group by usage_month, training_run_id, field, evidence, source_name

union all

-- a name that fits two machines is evidence of neither
select distinct
    usage_month,
    holdings.training_run_id,
    'machine ' || resource_id || ' in ' || substr(cast(usage_month as string), 1, 7) as field,
    'run records' as source_a,
    resource_id as value_a,
    'bill' as source_b,
    places_of_twins.places as value_b,
    'none of them' as chosen
from places_of_twins
inner join holdings using (usage_month, resource_id)

union all

-- runs together claim more chips than their machine has: each has its part of the machine by what it claims
select
    usage_month,
    training_run_id,
    'chips' as field,
    'run records of ' || resource_id || ' in ' || substr(cast(usage_month as string), 1, 7) as source_a,
    {{ chips_in_text('claimed_chips') }} as value_a,
    'its size' as source_b,
    cast(node_chips as string) as value_b,
    cast(node_chips as string) as chosen
from oversubscribed

union all

-- meters that contradict each other, and clocks that contradict the record
select usage_month, training_run_id, field, source_a, value_a, source_b, value_b, chosen
from {{ ref('int_power_conflicts') }}

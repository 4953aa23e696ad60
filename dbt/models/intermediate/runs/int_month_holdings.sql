{{ config(materialized='by_month') }}
{%- set columns = [
    'usage_month', 'is_ambiguous', 'is_managed_job', 'resource_id', 'accelerator_type', 'node_count', 'type_chips', 'machine_chips',
    'is_size_inferred', 'node_chips',
] %}

with holdings as (
    select *
    from {{ ref('int_recorded_holdings') }}
    where {{ in_build_months() }}
),

-- a run inside another has its chips, and the other the rest: both at once would hold the machine twice, and each have half of it
inner_runs as (
    select distinct training_run_id, parent_run_id
    from {{ ref('int_run_records') }}
    where parent_run_id is not null and not is_ambiguous
),

inner_holdings as (
    select
        holdings.usage_month,
        holdings.resource_id,
        inner_runs.parent_run_id as training_run_id,
        holdings.held_chips,
        holdings.held_from,
        holdings.held_to
    from holdings
    inner join inner_runs using (training_run_id)
    where not holdings.is_ambiguous and holdings.held_to is not null and holdings.resource_id is not null
),

parents as (
    select distinct usage_month, resource_id, training_run_id, true as is_outer
    from inner_holdings
),

outer_holdings as (
    select holdings.*
    from holdings
    inner join parents using (usage_month, resource_id, training_run_id)
    where holdings.held_to is not null
),

edges as (
    select usage_month, resource_id, training_run_id, held_from, held_to from outer_holdings
    union all
    select usage_month, resource_id, training_run_id, held_from, held_to from inner_holdings
),

slices as (
    {{ slices('edges', 'usage_month, resource_id, training_run_id', 'held_from', 'held_to') }}
),

inner_chips as (
    select
        usage_month,
        resource_id,
        training_run_id,
        slices.slice_from,
        {{ whole_sum('inner_holdings.held_chips', 'decimal(18, 6)') }} as inner_chips,
        count(*) > 0 as is_held_inside
    from slices
    inner join inner_holdings using (usage_month, resource_id, training_run_id)
    where inner_holdings.held_from <= slices.slice_from and inner_holdings.held_to >= slices.slice_to
    group by all
),

-- unknown chips are the whole machine
left_over as (
    select
        outer_holdings.*,
        slices.slice_from,
        slices.slice_to,
        case
            when inner_chips.is_held_inside is null then outer_holdings.held_chips
            else cast(greatest(outer_holdings.held_chips - inner_chips.inner_chips, 0) as decimal(18, 6))
        end as left_chips,
        inner_chips.is_held_inside is not null as is_held_inside
    from outer_holdings
    inner join slices using (usage_month, resource_id, training_run_id)
    left join inner_chips using (usage_month, resource_id, training_run_id, slice_from)
    where outer_holdings.held_from <= slices.slice_from and outer_holdings.held_to >= slices.slice_to
)

select
    training_run_id,
    {%- for column in columns %}
    holdings.{{ column }},
    {%- endfor %}
    holdings.recorded_chips,
    holdings.held_chips,
    holdings.held_from,
    holdings.held_to
from holdings
left join parents using (usage_month, resource_id, training_run_id)
where parents.is_outer is null or holdings.held_to is null

union all

select
    training_run_id,
    {%- for column in columns %}
    {{ column }},
    {%- endfor %}
    case when is_held_inside then cast(ceil(left_chips) as bigint) else recorded_chips end as recorded_chips,
    left_chips as held_chips,
    slice_from as held_from,
    slice_to as held_to
from left_over
where not is_held_inside or left_chips > 0

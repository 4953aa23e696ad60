with holdings as (
    select
        training_run_id,
        accelerator_type,
        held_chips,
        coalesce(recorded_chips * node_count, cast(held_chips as bigint)) as touched_chips,
        started_at,
        ended_at
    from {{ ref('int_run_holdings') }}
    union all
    select
        training_run_id,
        accelerator_type,
        held_chips,
        cast(ceil(held_chips) as bigint) as touched_chips,
        held_from as started_at,
        held_to as ended_at
    from {{ ref('int_tag_holdings') }}
),

held_types as (
    select
        holdings.training_run_id,
        min(holdings.accelerator_type) as accelerator_type,
        count(distinct holdings.accelerator_type) > 1 as is_multi_accelerator,
        count(*) = count(holdings.held_chips) as is_chips_known,
        max(catalogue.provider_name) as provider_name
    from holdings
    left join {{ ref('accelerator_types') }} as catalogue using (accelerator_type)
    group by all
),

chip_events as (
    select training_run_id, started_at as happened_at, held_chips, touched_chips from holdings
    union all
    select training_run_id, ended_at as happened_at, -held_chips as held_chips, -touched_chips as touched_chips from holdings
),

chip_levels as (
    select
        training_run_id,
        -- what ends at an instant is given back before what begins there
        {%- for chips in ['held_chips', 'touched_chips'] %}
        sum({{ chips }}) over (
            partition by training_run_id order by happened_at, {{ chips }} rows between unbounded preceding and current row
        ) as {{ chips }}{{ ',' if not loop.last }}
        {%- endfor %}
    from chip_events
),

chip_counts as (
    select training_run_id, max(touched_chips) as chip_count, max(held_chips) as chip_equivalents
    from chip_levels
    group by all
)

select
    held_types.*,
    case when held_types.is_chips_known then cast(chip_counts.chip_count as bigint) end as chip_count,
    case when held_types.is_chips_known then cast(chip_counts.chip_equivalents as decimal(38, 9)) end as chip_equivalents
from held_types
left join chip_counts using (training_run_id)

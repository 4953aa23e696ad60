with types as (
    select accelerator_type from {{ ref('accelerator_types') }}
),

holdings as (
    select distinct
        training_run_id,
        resource_id,
        {{ machine_name('resource_id') }} as machine_name,
        accelerator_type,
        recorded_chips,
        node_count,
        {{ instant_us('started_at') }} as held_from_us,
        {{ instant_us('ended_at') }} as held_to_us,
        -- an open end is no evidence of later months
        case when ended_at >= timestamp '9999-01-01 00:00:00' then cast(date_trunc('month', started_at) as date) end as open_month
    from {{ ref('int_run_holdings') }}
)

select
    holdings.*,
    bands.chip_least_uw,
    bands.chip_most_uw,
    cast(
        bands.node_least_uw
        * case when bands.least_chips = 1 then coalesce(holdings.recorded_chips, 1) else bands.least_chips end
        as bigint
    ) as node_least_uw,
    cast(bands.node_most_uw * greatest(bands.most_chips, coalesce(holdings.recorded_chips, 0)) as bigint) as node_most_uw
from holdings
left join types on holdings.accelerator_type = types.accelerator_type
-- a record that names no type has no band of its own
left join {{ ref('int_power_bands') }} as bands
    on
        bands.band = case
            when holdings.accelerator_type is not null
                then coalesce(types.accelerator_type, {{ accelerator_family('holdings.accelerator_type') }}, '')
        end

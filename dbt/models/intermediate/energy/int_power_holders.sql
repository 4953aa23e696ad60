{{ config(materialized='by_month') }}
-- a table of its own: Spark plans int_power_readings by what it reads, and writes these rows into it five times
with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

-- a reading is of the machine that it names, else of what the run of its key holds; a shared meter of each machine behind it
places as (
    select 'host=' || bands.machine_name as place, bands.* from {{ ref('int_holding_bands') }} as bands

    union all

    select 'run=' || bands.training_run_id as place, bands.* from {{ ref('int_holding_bands') }} as bands

    union all

    select 'shared=' || {{ machine_name('shared_meters.meter') }} as place, bands.*
    from {{ ref('int_holding_bands') }} as bands
    inner join {{ source('raw', 'shared_meters') }} as shared_meters
        on bands.machine_name = {{ machine_name('shared_meters.machine') }}
)

select
    months.usage_month, places.place, places.training_run_id, places.resource_id, places.accelerator_type, places.held_from_us,
    places.held_to_us, places.chip_least_uw, places.chip_most_uw, places.node_least_uw, places.node_most_uw
from places
inner join months
    on
        places.held_from_us < months.month_to_us
        and places.held_to_us > months.month_from_us
        and coalesce(places.open_month = months.usage_month, true)

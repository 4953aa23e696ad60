{%- set rows_of = ['int_metered_power', 'int_scheduler_readings', 'int_shared_meter_readings'] %}
{{ config(materialized='by_month', meta={'empty_without': rows_of}) }}
{%- set node = 'usage_month, resource_id' %}
{%- set reading -%}
    readings.usage_month, readings.meter, readings.host_id, readings.run_key, readings.sample_from_us, readings.sample_to_us
{%- endset %}

with keys_of_month as (
    {{ run_keys_of_month() }}
),

months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

holdings as (
    select
        holdings.usage_month,
        holdings.training_run_id,
        holdings.resource_id,
        {{ machine_name('holdings.resource_id') }} as machine_name,
        holdings.is_ambiguous,
        holdings.node_count,
        {{ instant_us('holdings.held_from') }} as held_from_us,
        coalesce({{ instant_us('holdings.held_to') }}, months.month_to_us) as held_to_us
    from {{ ref('int_machine_holdings') }} as holdings
    inner join months using (usage_month)
    where holdings.resource_id is not null
),

-- one machine each; the reading of one of several machines under a name is not that of all
nodes as (
    select {{ node }}, machine_name
    from holdings
    group by all
    having max(coalesce(node_count, 1)) = 1
),

readings as (
    select
        {{ reading }},
        readings.power_uw,
        readings.power_low_uw,
        readings.power_high_uw,
        readings.is_below_band,
        {{ machine_name('readings.host_id') }} as machine_name,
        keys_of_month.training_run_id as keyed_run_id
    from {{ ref('int_metered_power') }} as readings
    left join keys_of_month using (usage_month, run_key)
    where readings.boundary = 'node' and readings.power_uw is not null and {{ in_build_months('readings.usage_month') }}

    union all

    select
        months.usage_month,
        readings.meter,
        readings.host_id,
        readings.run_key,
        readings.sample_from_us,
        readings.sample_to_us,
        readings.power_uw,
        {{ less_share('readings.power_uw', to_units('meters.error_low_share', 6)) }} as power_low_uw,
        {{ more_share('readings.power_uw', to_units('meters.error_high_share', 6)) }} as power_high_uw,
        readings.is_below_band,
        {{ machine_name('readings.host_id') }} as machine_name,
        readings.run_key as keyed_run_id
    from {{ ref('int_scheduler_readings') }} as readings
    left join {{ ref('meters') }} as meters on meters.source_kind = 'training_runs' and readings.meter = meters.meter
    inner join months on readings.sample_from_us < months.month_to_us and readings.sample_to_us > months.month_from_us
    where readings.power_uw is not null

    union all

    select
        usage_month,
        'shared' as meter,
        resource_id as host_id,
        cast(null as string) as run_key,
        sample_from_us,
        sample_to_us,
        power_uw,
        power_low_uw,
        power_high_uw,
        false as is_below_band,
        {{ machine_name('resource_id') }} as machine_name,
        cast(null as string) as keyed_run_id
    from {{ ref('int_shared_meter_readings') }}
    where share = 'divided' and {{ in_build_months() }}
),

-- a reading with the key of a known run is of a node that this run holds then
readings_of_hosts as (
    select distinct
        {{ node }}, readings.meter, readings.sample_from_us, readings.sample_to_us, readings.power_uw,
        readings.power_low_uw, readings.power_high_uw, readings.is_below_band
    from readings
    inner join nodes using (usage_month, machine_name)
    left join holdings using ({{ node }})
    where
        readings.keyed_run_id is null
        or (
            readings.keyed_run_id = holdings.training_run_id
            and readings.sample_from_us < holdings.held_to_us
            and readings.sample_to_us > holdings.held_from_us
        )
),

-- one that names no machine of its run is of the machine, where the run holds only one then
held_by_run as (
    select
        readings.*,
        holdings.resource_id,
        coalesce(holdings.node_count, 1) as node_count,
        min(holdings.resource_id) over (partition by {{ reading }}) as first_resource_id,
        max(holdings.resource_id) over (partition by {{ reading }}) as last_resource_id
    from readings
    inner join holdings
        on
            readings.usage_month = holdings.usage_month
            and readings.keyed_run_id = holdings.training_run_id
            and readings.sample_from_us < holdings.held_to_us
            and readings.sample_to_us > holdings.held_from_us
    left join nodes as named on readings.usage_month = named.usage_month and readings.machine_name = named.machine_name
    where named.resource_id is null
),

readings_of_nodes as (
    select * from readings_of_hosts

    union

    select
        usage_month, resource_id, meter, sample_from_us, sample_to_us, power_uw, power_low_uw, power_high_uw, is_below_band
    from held_by_run
    where first_resource_id = last_resource_id and node_count = 1
)

select
    {{ node }},
    readings.meter,
    greatest(readings.sample_from_us, months.month_from_us) as from_us,
    least(readings.sample_to_us, months.month_to_us) as to_us,
    readings.power_uw,
    readings.power_low_uw,
    readings.power_high_uw,
    readings.is_below_band,
    {{ asked_from('readings.sample_from_us', 'readings.sample_to_us') }} as asked_from_us
from readings_of_nodes as readings
inner join months using (usage_month)
where readings.sample_from_us < months.month_to_us and readings.sample_to_us > months.month_from_us

{%- set series = ['usage_month', 'usage_day', 'day_from_us', 'day_to_us', 'run', 'host', 'keyed_run_id'] %}
{{ config(materialized='by_month', meta={'empty_without': ['int_telemetry_days'], 'days': 'usage_day'}) }}

-- a name counts as a run's in the months in which that run was there
with keys_of_month as (
    {{ run_keys_of_month() }}
),

held_nodes as (
    select
        usage_month,
        training_run_id,
        resource_id,
        {{ machine_name('resource_id') }} as machine_name,
        min(span_from_us) as held_from_us,
        max(span_to_us) as held_to_us
    from {{ ref('int_node_spans') }}
    where not is_ambiguous and {{ in_build_months() }}
    group by all
),

nodes as (
    select distinct usage_month, resource_id, {{ machine_name('resource_id') }} as machine_name
    from {{ ref('int_node_spans') }}
    where {{ in_build_months() }}
),

series as (
    select
        days.*,
        -- telemetry may name a machine with its path or without
        {{ machine_name("nullif(days.host, '')") }} as machine_name,
        keys_of_month.training_run_id as keyed_run_id
    from {{ ref('int_telemetry_days') }} as days
    left join keys_of_month on days.usage_month = keys_of_month.usage_month and days.run = keys_of_month.run_key
    where {{ in_build_months('days.usage_month') }}
),

known_hosts as (
    select distinct usage_month, machine_name, true as is_known from series
),

-- resources of a run that no sample names
nodes_without_samples as (
    select held_nodes.*
    from held_nodes
    left join known_hosts using (usage_month, machine_name)
    where known_hosts.is_known is null
),

-- of those it held at one time the first; a job that was submitted again has its own
first_nodes_without_samples as (
    select nodes.*
    from nodes_without_samples as nodes
    left join nodes_without_samples as others
        on
            nodes.usage_month = others.usage_month
            and nodes.training_run_id = others.training_run_id
            and nodes.resource_id > others.resource_id
            and nodes.held_from_us < others.held_to_us
            and nodes.held_to_us > others.held_from_us
    where others.resource_id is null
),

machines as (
    select usage_month, resource_id, max(node_count) as machine_count
    from {{ ref('int_machine_holdings') }}
    group by all
),

places as (
    select
        series.{{ series | join(', series.') }},
        nodes.resource_id,
        nodes.resource_id as host_name,
        cast(null as bigint) as taken_from_us,
        cast(null as bigint) as taken_to_us
    from nodes
    inner join series using (usage_month, machine_name)

    union all

    select
        series.{{ series | join(', series.') }},
        nodes.resource_id,
        series.host as host_name,
        -- of the day: what lies further away takes nothing of it, and may move with every hour
        greatest(nodes.held_from_us, series.day_from_us - {{ telemetry_gap_us() }}) - {{ telemetry_gap_us() }} as taken_from_us,
        least(nodes.held_to_us, series.day_to_us + {{ telemetry_gap_us() }}) + {{ telemetry_gap_us() }} as taken_to_us
    from first_nodes_without_samples as nodes
    -- samples half a second outside are taken too: they show that there is no gap at the run's start or end
    inner join series
        on
            nodes.usage_month = series.usage_month
            and nodes.training_run_id = series.keyed_run_id
            and series.day_from_us - {{ telemetry_gap_us() }} < nodes.held_to_us + {{ telemetry_gap_us() }}
            and series.day_to_us + {{ telemetry_gap_us() }} > nodes.held_from_us - {{ telemetry_gap_us() }}
    left join held_nodes as named_nodes
        on
            series.usage_month = named_nodes.usage_month
            and series.keyed_run_id = named_nodes.training_run_id
            and series.machine_name = named_nodes.machine_name
    where named_nodes.resource_id is null
)

select
    usage_month,
    places.usage_day,
    places.day_from_us,
    places.day_to_us,
    places.run,
    places.host,
    resource_id,
    places.host_name,
    places.keyed_run_id,
    places.taken_from_us,
    places.taken_to_us,
    machines.machine_count
from places
left join machines using (usage_month, resource_id)

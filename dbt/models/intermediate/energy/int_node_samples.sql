{%- set sample_columns %}
        samples.usage_month, nodes.resource_id, samples.keyed_run_id, samples.device_index,
        samples.document_hash, samples.is_document, samples.is_measured,
        samples.sample_from_us, samples.sample_to_us, samples.utilisation_ppm, samples.is_filled,
        samples.power_uw, samples.power_low_uw, samples.power_high_uw, samples.driver_ppm, samples.driver_low_ppm, samples.driver_high_ppm
{%- endset %}
{{ config(materialized='by_month', meta={'empty_without': ['int_telemetry_samples']}) }}

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

samples as (
    select
        samples.*,
        -- telemetry may name a machine with its path or without
        {{ machine_name('samples.host_id') }} as machine_name,
        keys_of_month.training_run_id as keyed_run_id
    from {{ ref('int_telemetry_samples') }} as samples
    left join keys_of_month using (usage_month, run_key)
    where {{ in_build_months('samples.usage_month') }}
),

known_hosts as (
    select distinct usage_month, machine_name, true as is_known from samples
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

samples_of_nodes as (
    select
        {{ sample_columns }},
        nodes.resource_id as host_id
    from nodes
    inner join samples using (usage_month, machine_name)

    union all

    select
        {{ sample_columns }},
        samples.host_id
    from first_nodes_without_samples as nodes
    -- samples half a second outside are taken too: they show that there is no gap at the run's start or end
    inner join samples
        on
            nodes.usage_month = samples.usage_month
            and nodes.training_run_id = samples.keyed_run_id
            and samples.sample_from_us < nodes.held_to_us + {{ telemetry_gap_us() }}
            and samples.sample_to_us > nodes.held_from_us - {{ telemetry_gap_us() }}
    left join held_nodes as named_nodes
        on
            samples.usage_month = named_nodes.usage_month
            and samples.keyed_run_id = named_nodes.training_run_id
            and samples.machine_name = named_nodes.machine_name
    where named_nodes.resource_id is null
),

-- a managed job names no machines: several documents of one interval are several machines, and one document counts once.
-- Of a single machine they are two views, and the greater use counts.
machines as (
    select usage_month, resource_id, max(node_count) as machine_count
    from {{ ref('int_machine_holdings') }}
    group by all
),

samples_by_machine as (
    select
        samples.*,
        case
            when machines.machine_count > 1 and samples.is_document then dense_rank() over (
                partition by
                    samples.usage_month, samples.resource_id, samples.host_id, samples.device_index,
                    samples.sample_from_us, samples.sample_to_us
                order by samples.document_hash
            )
            else 1
        end as machine_number
    from samples_of_nodes as samples
    left join machines using (usage_month, resource_id)
)

select
    usage_month,
    resource_id,
    coalesce(host_id, '') || '|' || cast(machine_number as string) || '|' || cast(device_index as string) as device_id,
    keyed_run_id,
    sample_from_us,
    sample_to_us,
    is_filled,
    bool_or(is_measured) as is_measured,
    bool_or(not is_measured) as is_present,
    {{ use_together() }} as utilisation_ppm,
    {{ greatest_readings() }}
from samples_by_machine
group by all

{%- set joined %}holders.usage_month, holders.training_run_id, holders.resource_id, samples.host_id, samples.device_index, samples.document_hash,
        samples.is_document, samples.is_measured, samples.sample_from_us, samples.sample_to_us, samples.utilisation_ppm{% endset %}
{{ config(materialized='incremental', incremental_strategy='append', pre_hook="{{ delete_build_months() }}") }}

with run_keys as (
    {{ run_keys() }}
),

holders as (
    select
        usage_month,
        training_run_id,
        resource_id,
        min(span_from_us) as held_from_us,
        max(span_to_us) as held_to_us
    from {{ ref('int_node_spans') }}
    where not is_ambiguous and {{ in_build_months() }}
    group by usage_month, training_run_id, resource_id
),

samples as (
    select samples.*, run_keys.training_run_id as keyed_run_id
    from {{ ref('int_telemetry_samples') }} as samples
    left join run_keys on samples.run_key = run_keys.run_key
    where {{ in_build_months('samples.usage_month') }}
),

known_hosts as (
    select distinct usage_month, host_id from samples
    where host_id is not null
),

-- resources of a run that no sample names
nameless as (
    select holders.*
    from holders
    left join known_hosts on holders.usage_month = known_hosts.usage_month and holders.resource_id = known_hosts.host_id
    where known_hosts.host_id is null
),

-- of those it held at one time the first; a job that was submitted again has its own
unnamed as (
    select nameless.*
    from nameless
    left join nameless as others
        on
            nameless.usage_month = others.usage_month
            and nameless.training_run_id = others.training_run_id
            and nameless.resource_id > others.resource_id
            and nameless.held_from_us < others.held_to_us
            and nameless.held_to_us > others.held_from_us
    where others.resource_id is null
),

matched as (
    select
        {{ joined }},
        samples.keyed_run_id is not null as is_keyed
    from holders
    -- samples half a second outside are taken too: they show that there is no gap at the run's start or end
    inner join samples
        on
            holders.usage_month = samples.usage_month
            and holders.resource_id = samples.host_id
            and samples.sample_from_us < holders.held_to_us + {{ telemetry_gap_us() }}
            and samples.sample_to_us > holders.held_from_us - {{ telemetry_gap_us() }}
    where samples.keyed_run_id is null or samples.keyed_run_id = holders.training_run_id

    union all

    select
        {{ joined }},
        true as is_keyed
    from unnamed as holders
    inner join samples
        on
            holders.usage_month = samples.usage_month
            and holders.training_run_id = samples.keyed_run_id
            and samples.sample_from_us < holders.held_to_us + {{ telemetry_gap_us() }}
            and samples.sample_to_us > holders.held_from_us - {{ telemetry_gap_us() }}
    left join holders as named
        on
            samples.usage_month = named.usage_month
            and samples.keyed_run_id = named.training_run_id
            and samples.host_id = named.resource_id
    where named.resource_id is null
),

-- a managed job names no machines: what several documents say of one interval are several machines, and one document counts once. Of a single
-- machine they are two views, and the greater use counts.
machines as (
    select resource_id, max(node_count) as machine_count
    from {{ ref('int_run_holdings') }}
    where resource_id is not null
    group by resource_id
),

documents as (
    select
        usage_month,
        training_run_id,
        resource_id,
        host_id,
        device_index,
        document_hash,
        is_document,
        is_measured,
        sample_from_us,
        sample_to_us,
        max(utilisation_ppm) as utilisation_ppm,
        bool_or(is_keyed) as is_keyed
    from matched
    group by
        usage_month, training_run_id, resource_id, host_id, device_index, document_hash, is_document, is_measured,
        sample_from_us, sample_to_us
),

told_apart as (
    select
        documents.*,
        case
            when machines.machine_count > 1 and documents.is_document
                then row_number() over (
                    partition by
                        documents.usage_month, documents.training_run_id, documents.resource_id, documents.host_id,
                        documents.device_index, documents.sample_from_us, documents.sample_to_us
                    order by documents.document_hash
                )
            else 1
        end as machine_number
    from documents
    left join machines on documents.resource_id = machines.resource_id
)

select
    usage_month,
    training_run_id,
    resource_id,
    coalesce(host_id, '') || '|' || cast(machine_number as string) || '|' || cast(device_index as string) as device_id,
    sample_from_us,
    sample_to_us,
    bool_or(is_measured) as is_measured,
    bool_or(not is_measured) as is_present,
    {{ use_together() }} as utilisation_ppm,
    bool_or(is_keyed) as is_keyed
from told_apart
group by
    usage_month, training_run_id, resource_id,
    coalesce(host_id, '') || '|' || cast(machine_number as string) || '|' || cast(device_index as string),
    sample_from_us, sample_to_us

{{ config(materialized='by_month') }}
{%- set shared %}
        line_id, part_number, {{ cell() }}, charge_period_start, charge_period_end, instance_type, is_usage, is_discount, is_accelerator_type,
        is_block_hour, billed_us, line_count, resource_id, pod_allocation{% endset %}
{%- set no_time = 'cast(null as decimal(38, 0)) as cluster_us' %}

with charges as (
    select * from {{ ref('int_charges') }}
    where {{ in_build_months() }} and fixed_reason is null
),

-- the time of machines that HyperPod bills of a cluster and type in one interval, in however many rows; corrections have their
-- sign. Of a type whose chips are not known no part is anybody's
hyperpod_charges as (
    select
        *,
        sum(case
            when not is_usage then cast(0 as decimal(38, 0))
            when coalesce(nullif(list_cost, 0), billed_cost) < 0 then -billed_us
            else billed_us
        end) over (partition by cluster_name, cluster_place, charge_period_start, charge_period_end) as machine_us
    from charges
    where
        provider_name = 'AWS'
        and cluster_name is not null
        and instance_type in (
            select types.accelerator_type from {{ ref('accelerator_types') }} as types
            where types.chips_per_node is not null
        )
),

-- Google Cloud names a resource twice, and a managed job is its own resource in its record: a record may hold any of the names
names as (
    select
        {{ shared }},
        machine_place,
        {{ machine_name('resource_id') }} as machine_name,
        0 as breadth,
        false as is_job_name,
        {{ no_time }}
    from charges
    where resource_id is not null

    union all

    select
        {{ shared }},
        machine_place,
        {{ machine_name('other_resource_id') }} as machine_name,
        0 as breadth,
        false as is_job_name,
        {{ no_time }}
    from charges
    where
        other_resource_id is not null
        and {{ machine_name('other_resource_id') }} is distinct from {{ machine_name('resource_id') }}

    union all

    select {{ shared }}, machine_place, job_id as machine_name, 0 as breadth, true as is_job_name, {{ no_time }}
    from charges
    where job_id is not null and job_id is distinct from resource_id and job_id is distinct from other_resource_id

    union all

    -- wider and wider: a record may name the pool, the reservation or the cluster that a machine is of
    {%- for name, place in [
        ('node_pool_name', 'cluster_place'), ('reservation_name', 'reservation_place'), ('cluster_name', 'cluster_place')
    ] %}
    select
        {{ shared }},
        {{ place }} as machine_place,
        {{ name }} as machine_name,
        {{ loop.index }} as breadth,
        false as is_job_name,
        {{ no_time }}
    from charges
    where {{ name }} is not null{{ " and provider_name <> 'AWS'" if name == 'cluster_name' }}

    union all
    {% endfor %}
    select
        {{ shared }},
        cluster_place as machine_place,
        cluster_name as machine_name,
        3 as breadth,
        false as is_job_name,
        cast(greatest(machine_us, 0) as decimal(38, 0)) as cluster_us
    from hyperpod_charges
    where machine_us is not null
),

months as (
    select
        usage_month,
        cast(usage_month as timestamp) as month_from,
        cast(usage_month as timestamp) + interval 1 month as month_to
    from ({{ months_to_build() }}) as months_to_build
),

held_resources as (
    select distinct months.usage_month, holdings.resource_id as held_resource_id, holdings.accelerator_type
    from {{ ref('int_run_holdings') }} as holdings
    inner join months on holdings.started_at < months.month_to and holdings.ended_at > months.month_from
    where holdings.resource_id is not null
),

-- machines of HyperPod, one by one or together, as the bill has them: by the id of their cluster and their type. A record may
-- have the cluster's ARN, its id or its name
held_of_hyperpod as (
    select
        *,
        {{ cluster_of_machine('held_resource_id') }} as own_cluster,
        {{ cluster_of_machines('held_resource_id') }} as stated_cluster,
        case
            when {{ cluster_of_machine('held_resource_id') }} <> '' then accelerator_type
            else regexp_extract(held_resource_id, '/ml[.]([^/]+)$', 1)
        end as instance_type,
        regexp_extract(held_resource_id, '^arn:[^:]*:sagemaker:[^:]*:([^:]*):cluster/', 1) as account_id
    from held_resources
    where {{ is_of_hyperpod('held_resource_id') }}
),

clusters_of_hyperpod as (
    select
        usage_month,
        held_resource_id,
        instance_type,
        case when own_cluster <> '' then own_cluster else stated_cluster end as cluster_id,
        account_id
    from held_of_hyperpod

    union all

    select
        held.usage_month,
        held.held_resource_id,
        held.instance_type,
        {{ replace_all('clusters.cluster_arn', '^.*:cluster/', '') }} as cluster_id,
        split_part(clusters.cluster_arn, ':', 5) as account_id
    from held_of_hyperpod as held
    inner join {{ ref('stg_training_runs__hyperpod_clusters') }} as clusters on held.stated_cluster = clusters.cluster_name
),

-- a record may give the whole path of a machine, with its project and its zone. A month knows the names that are held in it
recorded_names as (
    select distinct
        usage_month,
        held_resource_id,
        coalesce(nullif({{ place_name('held_resource_id') }}, ''), {{ machine_name('held_resource_id') }}) as machine_name,
        regexp_extract(held_resource_id, 'projects/([^/]+)/.*(nodes|instances|clusters|reservations)/', 1) as project,
        regexp_extract(held_resource_id, '(zones|locations)/([^/]+)/(nodes|instances|clusters|reservations)/', 2) as zone
    from held_resources

    union

    select
        usage_month,
        held_resource_id,
        'cluster/' || cluster_id || '/ml.' || instance_type as machine_name,
        account_id as project,
        '' as zone
    from clusters_of_hyperpod
),

held_names as (
    select names.*, recorded_names.held_resource_id, true as is_recorded
    from names
    inner join recorded_names
        on
            names.usage_month = recorded_names.usage_month
            and names.machine_name = recorded_names.machine_name
            and (
                names.machine_place is null
                or (
                    recorded_names.project
                    in ('', split_part(names.machine_place, '|', 1), split_part(names.machine_place, '|', 2))
                    and (recorded_names.zone = '' or split_part(names.machine_place, '|', 3) in ('', recorded_names.zone))
                )
            )
),

held_lines as (
    select distinct line_id, machine_name from held_names
    where not is_job_name
),

charges_of_machines as (
    select * from held_names

    union all

    -- an hour of a capacity block counts even where no record names the machine
    select names.*, names.resource_id as held_resource_id, false as is_recorded
    from names
    left join held_lines on names.line_id = held_lines.line_id and names.machine_name = held_lines.machine_name
    where names.is_block_hour and not names.is_job_name and held_lines.line_id is null
),

places as (
    select
        *,
        nullif(split_part(machine_place, '|', 1), '') as project_number,
        nullif(split_part(machine_place, '|', 3), '') as zone
    from charges_of_machines
    where machine_place is not null
),

-- which of the machines of this name a record means is not known where two were billed: neither is its
twins as (
    select usage_month, held_resource_id from places
    group by all
    having min(project_number) <> max(project_number) or min(zone) <> max(zone)
)

select
    {{ shared }},
    charges_of_machines.machine_place,
    charges_of_machines.held_resource_id,
    charges_of_machines.breadth,
    charges_of_machines.is_job_name,
    charges_of_machines.is_recorded,
    charges_of_machines.cluster_us,
    twins.held_resource_id is not null as is_twin
from charges_of_machines
left join twins using (usage_month, held_resource_id)

{{ config(materialized='by_month') }}
{%- set end_of_zone = '-([a-z]|ai[0-9][a-z])$' %}
{%- set zone_in_name =
    '(^|/)((africa|asia|australia|europe|me|northamerica|southamerica|us)-(north|south|east|west|central)+[0-9]+)-([a-z]|ai[0-9][a-z])/'
%}
with resources as (
    select distinct usage_month, resource_id, training_run_id
    from {{ ref('int_node_spans') }}
    where not is_ambiguous
),

billed_regions as (
    select
        usage_month,
        resource_id,
        provider_name,
        region_id,
        row_number() over (partition by usage_month, resource_id order by billed_chip_us desc, region_id) as month_rank
    from {{ ref('int_resource_bills') }}
    where region_id <> ''
),

-- and where the tagged lines of a run were billed
tagged_regions as (
    select usage_month, resource_id, training_run_id, min(region_id) as region_id
    from {{ ref('int_tag_holdings') }}
    where region_id <> ''
    group by all
),

run_places as (
    select
        training_run_id,
        usage_month,
        provider_name,
        region_id,
        row_number() over (
            partition by training_run_id, usage_month
            order by case when cost_component = 'accelerator' then 0 else 1 end, sum(effective_cost) desc, region_id
        ) as place_rank
    from {{ ref('int_cell_parts') }}
    where training_run_id is not null and region_id not in ('', 'global')
    group by training_run_id, usage_month, provider_name, region_id, case when cost_component = 'accelerator' then 0 else 1 end
),

landed_bills as (
    select distinct usage_month, provider_name from {{ source('raw', 'months') }}
    where is_bill_landed
),

-- while the provider has not billed a month at all, the month before shows where its machines are
places_before as (
    select
        cast(usage_month + interval 1 month as date) as usage_month,
        provider_name,
        resource_id,
        '' as training_run_id,
        region_id
    from billed_regions
    where month_rank = 1

    union all

    select
        cast(usage_month + interval 1 month as date) as usage_month,
        provider_name,
        '' as resource_id,
        training_run_id,
        region_id
    from run_places
    where place_rank = 1
),

places_of_unbilled_months as (
    select places_before.*
    from places_before
    left join landed_bills using (usage_month, provider_name)
    where landed_bills.usage_month is null
),

-- where telemetry states that a machine is; two regions in one month are none
observed_regions as (
    select usage_month, met_machine as machine_name, min(region_id) as region_id
    from {{ ref('int_telemetry_matches') }}
    where met_machine <> ''
    group by usage_month, met_machine
    having count(distinct region_id) = 1
),

resources_with_named_region as (
    select
        *,
        {{ machine_name('resource_id') }} as machine_name,
        case
            when resource_id like 'arn:aws%' then split_part(resource_id, ':', 4)
            -- a zone is its region and a letter (us-central1-a), or ai, a digit and a letter (us-central1-ai1a)
            when resource_id like '%/locations/%'
                then {{ replace_all("split_part(split_part(resource_id, '/locations/', 2), '/', 1)", end_of_zone, '') }}
            when resource_id like '%/zones/%'
                then {{ replace_all("split_part(split_part(resource_id, '/zones/', 2), '/', 1)", end_of_zone, '') }}
            -- us-central2-b/node-1
            else regexp_extract(resource_id, '{{ zone_in_name }}', 2)
        end as named_region_id
    from resources
)

select
    resources.usage_month,
    resources.resource_id,
    resources.training_run_id,
    coalesce(
        month_bills.region_id,
        tagged_regions.region_id,
        nullif(resources.named_region_id, ''),
        observed_regions.region_id,
        run_places.region_id,
        machines_before.region_id,
        runs_before.region_id,
        ''
    ) as region_id
from resources_with_named_region as resources
left join billed_regions as month_bills
    on
        resources.usage_month = month_bills.usage_month
        and resources.resource_id = month_bills.resource_id
        and month_bills.month_rank = 1
left join tagged_regions
    on
        resources.usage_month = tagged_regions.usage_month
        and resources.resource_id = tagged_regions.resource_id
        and resources.training_run_id = tagged_regions.training_run_id
left join observed_regions
    on resources.usage_month = observed_regions.usage_month and resources.machine_name = observed_regions.machine_name
left join run_places
    on
        resources.training_run_id = run_places.training_run_id
        and resources.usage_month = run_places.usage_month
        and run_places.place_rank = 1
left join places_of_unbilled_months as machines_before
    on
        resources.usage_month = machines_before.usage_month
        and resources.resource_id = machines_before.resource_id
        and machines_before.training_run_id = ''
left join places_of_unbilled_months as runs_before
    on
        resources.usage_month = runs_before.usage_month
        and resources.training_run_id = runs_before.training_run_id
        and runs_before.resource_id = ''

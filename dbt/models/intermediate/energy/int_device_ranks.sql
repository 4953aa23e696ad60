{{ config(materialized='by_month', meta={'empty_without': ['int_device_times'], 'days': 'usage_day'}) }}
{%- set node = 'usage_month, resource_id' %}
{%- set span = 'usage_month, usage_day, resource_id, span_from_us' %}

with plain_spans as (
    select *, true as is_plain from {{ ref('int_plain_spans') }}
    where {{ in_build_months() }}
),

-- all that a plain span has counts, whatever its place
chosen_spans as (
    select distinct {{ span }}
    from {{ ref('int_device_times') }}
    left join plain_spans using ({{ span }})
    where plain_spans.is_plain is null and {{ in_build_months() }}
),

chosen_nodes as (
    select distinct {{ node }} from chosen_spans
),

holders as (
    select {{ span }}, spans.training_run_id
    from {{ ref('int_node_spans') }} as spans
    inner join chosen_spans using ({{ span }})
),

run_devices as (
    select
        {{ node }},
        spans.training_run_id,
        device_times.device_id,
        sum(device_times.used_ppm_us) as used_ppm_us,
        sum(device_times.metered_uw_us) as metered_uw_us,
        sum(device_times.driven_ppm_us) as driven_ppm_us,
        sum(device_times.known_us) as known_us
    from {{ ref('int_node_spans') }} as spans
    inner join {{ ref('int_device_times') }} as device_times using (usage_month, resource_id, span_from_us)
    inner join chosen_nodes using ({{ node }})
    where device_times.owner_run_id is null or device_times.owner_run_id = spans.training_run_id
    group by all
)

-- of part of a node runs have the chips that they used most in the month, so that cutting a record in two changes nothing
select
    {{ span }},
    run_devices.device_id,
    row_number() over (
        partition by {{ span }}
        order by
            sum(run_devices.used_ppm_us) desc, sum(run_devices.metered_uw_us) desc, sum(run_devices.driven_ppm_us) desc,
            sum(run_devices.known_us) desc, run_devices.device_id
    ) as device_rank
from holders
inner join run_devices using ({{ node }}, training_run_id)
group by {{ span }}, run_devices.device_id

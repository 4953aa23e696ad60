{%- set columns = [
    'source_name', 'source_object', 'row_number', 'document_hash', 'run_key', 'host_id', 'device_index', 'device_count',
    'accelerator_type', 'region_id', 'sample_from_us', 'sample_to_us', 'is_measured', 'utilisation_ppm', 'component', 'boundary',
    'power_uw', 'driver_ppm', 'meter', 'sdk_version', 'is_sampled', 'power_limit_mw', 'spacing_us', 'is_moment',
    'is_stuck', 'moment_uw',
] %}
{%- set day -%}
(sample_to_us - 1) - (sample_to_us - 1) % 86400000000
{%- endset %}

with delivered as (
    {{ telemetry_samples(
        'prometheus', has_power=true, also=['power_limit_mw', 'spacing_us', 'moment_mw * cast(1000 as bigint) as beside_uw']
    ) | indent(4) }}
),

-- a counter that does not move while watts are drawn beside it is stuck, and shows nothing
counted as (
    select *, coalesce(power_uw = 0 and beside_uw > 0, false) as is_stuck
    from delivered
),

metered as (
    select
        *,
        case when is_stuck then beside_uw else power_uw end as metered_uw,
        case when not is_stuck then beside_uw end as moment_uw,
        (sample_from_us is null or spacing_us is not null) and (is_stuck or beside_uw is null) as is_moment
    from counted
),

-- labels name a machine as an exporter's target is called; the configuration maps what bills and records do not know
samples as (
    select
        {%- for name in columns %}
        {%- if name == 'host_id' %}
        coalesce(host_names.resource_id, metered.host_id) as host_id
        {%- else %}
        metered.{{ 'metered_uw as power_uw' if name == 'power_uw' else name }}
        {%- endif %}
        {{- ',' if not loop.last }}
        {%- endfor %}
    from metered
    left join {{ source('raw', 'host_names') }} as host_names on metered.host_id = host_names.host_id
),

parts as (
    select
        meter,
        coalesce(host_id, '|' || run_key, '') as machine,
        {{ day }} as day_us,
        sample_to_us,
        component,
        power_uw
    from samples
    where boundary = 'node' and component is not null
),

machines as (
    select meter, machine, day_us, count(distinct component) as part_count
    from parts
    group by all
),

steps as (
    select meter, machine, day_us, sample_to_us, count(distinct case when power_uw is not null then component end) as known_count
    from parts
    group by all
)

select
    {%- for name in columns %}
    {%- if name == 'power_uw' %}
    -- outlets and supplies of a machine add up; without one of those that the day knows the sum would be too low
    case when coalesce(steps.known_count < machines.part_count, false) then null else samples.power_uw end as power_uw,
    {%- else %}
    samples.{{ name }}{{ ',' if not loop.last }}
    {%- endif %}
    {%- endfor %}
from samples
left join steps
    on
        samples.meter = steps.meter
        and samples.sample_to_us = steps.sample_to_us
        -- a join on equality alone: what is no part of a machine meets none
        and case
            when samples.boundary = 'node' and samples.component is not null
                then coalesce(samples.host_id, '|' || samples.run_key, '')
        end = steps.machine
left join machines
    on steps.meter = machines.meter and steps.machine = machines.machine and steps.day_us = machines.day_us

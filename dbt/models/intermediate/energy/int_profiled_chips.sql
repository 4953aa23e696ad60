{%- set is_profiled = "meter like 'xprof%' and boundary = 'chip'" %}
{{ config(materialized='by_month', meta={'empty_without': ['int_judged_readings where ' ~ is_profiled]}) }}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

-- profiles number the chips of a host from 0, duty cycles through the slice: in the order of numbers they are the same chips
profiled_chips as (
    select distinct usage_month, {{ machine_name('host_id') }} as machine_name, device_index
    from {{ ref('int_judged_readings') }}
    where {{ is_profiled }} and (sample_from_us is not null or not is_sampled) and {{ in_build_months() }}
),

profiled_machines as (
    select distinct usage_month, machine_name from profiled_chips
),

chips_with_duty_cycle as (
    select distinct months.usage_month, machines.machine_name, samples.device_index
    from {{ ref('stg_tpu_monitoring__samples') }} as samples
    inner join months on samples.sample_to_us > months.month_from_us and samples.sample_to_us <= months.month_to_us
    inner join profiled_machines as machines
        on
            months.usage_month = machines.usage_month
            and {{ machine_name('samples.host_id') }} = machines.machine_name
    where samples.is_measured
),

{%- for chips in ['profiled_chips', 'chips_with_duty_cycle'] %}
placed_{{ chips }} as (
    select
        *,
        row_number() over (partition by usage_month, machine_name order by device_index) as place,
        count(*) over (partition by usage_month, machine_name) as chip_count
    from {{ chips }}
){{ ',' if not loop.last }}
{% endfor %}
select usage_month, machine_name, profiled.device_index, in_slice.device_index as slice_index
from placed_profiled_chips as profiled
inner join placed_chips_with_duty_cycle as in_slice using (usage_month, machine_name, place, chip_count)

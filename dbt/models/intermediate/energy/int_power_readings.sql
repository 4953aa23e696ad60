{{ config(materialized='by_month') }}
{%- set models = [
    'stg_xprof__samples', 'stg_neuron_power__samples', 'stg_gpu_monitoring__samples', 'stg_power_meters__readings',
    'stg_prometheus__samples',
] %}
{%- set series = 'usage_month, boundary, meter, host_key, device_key' %}
{%- set stated = [
    'usage_month', 'boundary', 'meter', 'host_id', 'run_key', 'device_index', 'is_sampled', 'sample_from_us', 'sample_to_us',
    'accelerator_type', 'sdk_version', 'is_measured', 'utilisation_ppm', 'power_uw', 'driver_ppm',
] %}
{%- set place = 'usage_month, boundary, meter, host_id, run_key, device_index' %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

delivered as (
    {%- for model in models %}
    select
        host_id, run_key, accelerator_type, sdk_version, sample_from_us, sample_to_us, is_measured, utilisation_ppm,
        component, boundary, power_uw, driver_ppm, meter, is_sampled,
        case when boundary = 'chip' then device_index end as device_index
    from {{ ref(model) }}
    where meter <> 'cloud_tpu'  -- use without power, which stg_tpu_monitoring__samples has
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
),

-- a month does not change when points of the next one come
delivered_of_months as (
    select months.usage_month, delivered.*
    from delivered
    inner join months
        on
            delivered.sample_to_us > months.month_from_us - 172800000000
            and coalesce(delivered.sample_from_us, delivered.sample_to_us - 1) < months.month_to_us + {{ telemetry_gap_us() }}
            and (delivered.sample_from_us is not null or delivered.sample_to_us <= months.month_to_us)
),

-- of copies of one rail the greatest reading
rails as (
    select
        {{ place }},
        component,
        is_sampled,
        sample_from_us,
        sample_to_us,
        max(accelerator_type) as accelerator_type,
        max(sdk_version) as sdk_version,
        bool_or(is_measured) as is_measured,
        max(utilisation_ppm) as utilisation_ppm,
        max(power_uw) as power_uw,
        max(driver_ppm) as driver_ppm
    from delivered_of_months
    group by all
),

-- a chip draws what its rails draw together, known where each of them is; one that is also read as a whole the greater of both
readings as (
    select
        {{ place }},
        coalesce(host_id, '|' || run_key, '') as host_key,
        coalesce(device_index, -1) as device_key,
        is_sampled,
        sample_from_us,
        sample_to_us,
        max(accelerator_type) as accelerator_type,
        max(sdk_version) as sdk_version,
        bool_or(is_measured) as is_measured,
        max(utilisation_ppm) as utilisation_ppm,
        cast(greatest(
            max(case when component is null then power_uw end),
            case
                when count(component) = count(case when component is not null then power_uw end)
                    then sum(case when component is not null then power_uw end)
            end
        ) as bigint) as power_uw,
        max(driver_ppm) as driver_ppm
    from rails
    group by all
),

-- a window without a length is about no time at all
points as (
    select * from readings
    where sample_from_us is null and not is_sampled
),

{{ gauge_times(series, 'usage_month, boundary, meter, host_key') }},

covered as (
    select {{ stated | join(', ') }}, sample_from_us as covered_from_us
    from readings
    where sample_from_us is not null

    union all

    select
        {%- for name in stated %}
        points.{{ name }},
        {%- endfor %}
        covered_times.sample_from_us as covered_from_us
    from points
    inner join covered_times using ({{ series }}, sample_to_us)
),

-- profiles number the chips of a host from 0, duty cycles through the slice: in the order of numbers they are the same chips
profiled_chips as (
    select distinct usage_month, {{ machine_name('host_id') }} as machine_name, device_index
    from covered
    where meter like 'xprof%' and boundary = 'chip'
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
),
{% endfor %}
numbers as (
    select usage_month, machine_name, profiled.device_index, in_slice.device_index as slice_index
    from placed_profiled_chips as profiled
    inner join placed_chips_with_duty_cycle as in_slice using (usage_month, machine_name, place, chip_count)
)

select
    covered.usage_month,
    covered.boundary,
    covered.meter,
    covered.host_id,
    covered.run_key,
    case when covered.meter like 'xprof%' then coalesce(numbers.slice_index, covered.device_index) else covered.device_index end
        as device_index,
    covered.accelerator_type,
    covered.sdk_version,
    covered.is_sampled,
    covered.sample_from_us is null as is_point,
    covered.covered_from_us as sample_from_us,
    covered.sample_to_us,
    covered.is_measured,
    covered.utilisation_ppm,
    covered.power_uw,
    covered.driver_ppm
from covered
left join numbers
    on
        covered.usage_month = numbers.usage_month
        and {{ machine_name('covered.host_id') }} = numbers.machine_name
        and covered.device_index = numbers.device_index
-- what states no figure is unknown
where coalesce(covered.power_uw, covered.driver_ppm, covered.utilisation_ppm) is not null

{{ config(materialized='by_month', meta={'by_day': 'usage_day', 'empty_without': ['int_power_samples', 'int_meter_samples']}) }}
{%- set hour_us = 3600000000 %}
{%- set bounds = ['chip_least_uw', 'chip_most_uw', 'node_least_uw', 'node_most_uw'] %}
{%- set origin = 'usage_month, host, run, kind, meter' %}
{%- set place = 'usage_month, usage_day, boundary, meter, host_id, run_key, device_index' %}

with run_keys as (
    {{ run_keys() }}
),

delivered_of_months as (
    {%- for model in ['int_power_samples', 'int_meter_samples'] %}
    select
        usage_month, usage_day, source_name, source_object, row_number,
        coalesce(host_id, '') as host, coalesce(run_key, '') as run, coalesce(accelerator_type, '') as kind,
        sdk_version, sample_from_us, sample_to_us, is_measured, utilisation_ppm, component, boundary, power_uw,
        driver_ppm, meter, is_sampled, case when boundary = 'chip' then device_index end as device_index, spacing_us, is_moment,
        is_stuck, moment_from_us, moment_uw, column_name
    from {{ ref(model) }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
),

-- of a name that is machines of two types in a month the band that holds for both
bands_of_places as (
    select
        usage_month,
        place,
        case when min(accelerator_type) = max(accelerator_type) then min(accelerator_type) end as place_type
        {%- for bound in bounds %},
        {{ 'min' if 'least' in bound else 'max' }}({{ bound }}) as {{ bound }}
        {%- endfor %}
    from {{ ref('int_power_holders') }}
    group by all
),

-- a rack's meter may read what its machines draw together
shared_meters as (
    select {{ machine_name('meter') }} as machine, count(*) as machine_count
    from {{ source('raw', 'shared_meters') }}
    group by all
),

types as (
    select accelerator_type from {{ ref('accelerator_types') }}
),

origins as (
    select distinct {{ origin }} from delivered_of_months
    where power_uw is not null
),

-- without a record the type that the reading names, else the family that its meter reads
bands as (
    select
        {%- for name in origin.split(', ') %}
        origins.{{ name }},
        {%- endfor %}
        {{ machine_name('origins.host') }} as machine,
        coalesce(by_host.place, by_run.place, by_meter.place) as place,
        coalesce(by_host.place_type, by_run.place_type, nullif(origins.kind, '')) as place_type
        {%- for bound in bounds %},
        coalesce(by_host.{{ bound }}, by_run.{{ bound }},
        {%- if bound == 'node_least_uw' %} by_meter.node_least_uw,{% endif %} by_type.{{ bound }}
        {%- if bound == 'node_least_uw' %} * by_type.least_chips{% elif bound == 'node_most_uw' %} * by_type.most_chips{% endif %})
        {{- ' * coalesce(shared_meters.machine_count, 1)' if bound == 'node_most_uw' }} as {{ bound }}
        {%- endfor %}
    from origins
    left join run_keys on origins.run = run_keys.run_key
    left join bands_of_places as by_host
        on origins.usage_month = by_host.usage_month and by_host.place = 'host=' || {{ machine_name('origins.host') }}
    left join bands_of_places as by_run
        on origins.usage_month = by_run.usage_month and by_run.place = 'run=' || run_keys.training_run_id
    left join shared_meters on {{ machine_name('origins.host') }} = shared_meters.machine
    -- what feeds several machines feeds at least one that is held
    left join bands_of_places as by_meter
        on origins.usage_month = by_meter.usage_month and by_meter.place = 'shared=' || {{ machine_name('origins.host') }}
    left join types on origins.kind = types.accelerator_type
    inner join {{ ref('int_power_bands') }} as by_type
        on
            by_type.band = coalesce(
                types.accelerator_type,
                {{ accelerator_family('origins.kind') }},
                case when origins.meter like 'xprof%' then 'tpu' when origins.meter in ('nvml', 'dcgm') then 'gpu' else '' end
            )
),

banded as (
    select
        delivered.*,
        bands.machine,
        bands.place,
        bands.place_type,
        case delivered.boundary when 'chip' then bands.chip_least_uw else bands.node_least_uw end as least_uw,
        case delivered.boundary when 'chip' then bands.chip_most_uw else bands.node_most_uw end as most_uw,
        delivered.sample_to_us - 1 - (delivered.sample_to_us - 1) % {{ hour_us }} as hour_us
    from delivered_of_months as delivered
    left join bands using ({{ origin }})
),

-- a machine that no run holds may draw nothing
held_when_low as (
    select distinct usage_month, place, banded.sample_from_us, banded.sample_to_us, true as is_held
    from banded
    inner join {{ ref('int_power_holders') }} as holders using (usage_month, place)
    where
        least(banded.power_uw, coalesce(banded.moment_uw, banded.power_uw)) < banded.least_uw
        and holders.held_from_us < banded.sample_to_us
        and holders.held_to_us > coalesce(banded.sample_from_us, banded.sample_to_us - 1)
),

-- a meter that shows less than the chips of its node sees a part of it (int_partial_meters): that is asked first
low_nodes as (
    select distinct usage_month, machine, hour_us from banded
    where boundary = 'node' and power_uw < least_uw and machine <> ''
),

read_beside_chips as (
    select distinct usage_month, machine, hour_us, true as is_beside_chips
    from banded
    inner join low_nodes using (usage_month, machine, hour_us)
    where banded.boundary = 'chip' and banded.power_uw is not null and not banded.is_sampled
),

limited as (
    select
        banded.*,
        case
            when held_when_low.is_held or least(banded.power_uw, coalesce(banded.moment_uw, banded.power_uw)) >= banded.least_uw
                then banded.least_uw
            else 0
        end as floor_uw,
        coalesce(banded.boundary = 'node' and read_beside_chips.is_beside_chips, false) as is_beside_chips
    from banded
    left join held_when_low
        on
            banded.usage_month = held_when_low.usage_month
            and banded.place = held_when_low.place
            and banded.sample_to_us = held_when_low.sample_to_us
            and coalesce(banded.sample_from_us, -1) = coalesce(held_when_low.sample_from_us, -1)
    left join read_beside_chips
        on
            banded.usage_month = read_beside_chips.usage_month
            and banded.machine = read_beside_chips.machine
            and banded.hour_us = read_beside_chips.hour_us
),

-- what lies outside its band is unknown; of a rail only the sum can be too low
judged as (
    select
        *,
        power_uw > most_uw or (power_uw < floor_uw and component is null and not is_beside_chips) as is_doubted,
        coalesce(power_uw < floor_uw and component is null and is_beside_chips, false) as is_below_band,
        moment_uw between floor_uw and most_uw as is_moment_plausible
    from limited
),

-- of a counter in another unit the watts beside it
usable as (
    select
        usage_month,
        usage_day,
        boundary,
        meter,
        nullif(host, '') as host_id,
        nullif(run, '') as run_key,
        device_index,
        component,
        is_sampled,
        case when is_doubted and is_moment_plausible then moment_from_us else sample_from_us end as sample_from_us,
        sample_to_us,
        is_moment or coalesce(is_doubted and is_moment_plausible, false) as is_moment,
        spacing_us,
        nullif(kind, '') as accelerator_type,
        sdk_version,
        is_measured,
        utilisation_ppm,
        driver_ppm,
        case when not is_doubted then power_uw when is_moment_plausible then moment_uw end as power_uw,
        case when is_doubted then power_uw end as doubted_uw,
        moment_uw,
        is_stuck,
        is_below_band,
        place_type,
        floor_uw,
        most_uw,
        case
            when is_doubted or is_below_band or component is not null
                then {{ reading_place('column_name') }}
        end as first_reading
    from judged
),

-- of copies of one rail the greatest reading
rails as (
    select
        {{ place }},
        component,
        is_sampled,
        sample_from_us,
        sample_to_us,
        max(place_type) as place_type,
        -- of the one that counts: a mean of scrapes may be saved apart from the counter of the same step
        coalesce(
            max(case when is_moment then coalesce(power_uw, driver_ppm) end)
            > max(case when not is_moment then coalesce(power_uw, driver_ppm) end),
            bool_or(is_moment)
        ) as is_moment,
        max(spacing_us) as spacing_us,
        max(accelerator_type) as accelerator_type,
        max(sdk_version) as sdk_version,
        bool_or(is_measured) as is_measured,
        max(utilisation_ppm) as utilisation_ppm,
        max(power_uw) as power_uw,
        max(driver_ppm) as driver_ppm,
        bool_or(is_stuck) as is_stuck,
        bool_or(is_below_band) as is_below_band,
        max(moment_uw) as moment_uw,
        min(doubted_uw) as least_doubted_uw,
        max(doubted_uw) as most_doubted_uw,
        max(floor_uw) as floor_uw,
        max(most_uw) as most_uw,
        min(first_reading) as first_reading
    from usable
    group by all
),

rails_of_types as (
    select accelerator_type as place_type, meter, count(*) as rail_count
    from {{ ref('power_rails') }}
    group by all
),

rails_with_types as (
    select rails.*, known_rails.rail as known_rail, rails_of_types.rail_count
    from rails
    left join {{ ref('power_rails') }} as known_rails
        on
            rails.place_type = known_rails.accelerator_type
            and rails.meter = known_rails.meter
            and lower(split_part(rails.component, ' ', 1)) = lower(known_rails.rail)
    left join rails_of_types on rails.place_type = rails_of_types.place_type and rails.meter = rails_of_types.meter
),

-- a rail that the type has and the reading has not is unknown, not zero
summed_rails as (
    select
        {{ place }},
        coalesce(host_id, '|' || run_key, '') as host_key,
        coalesce(device_index, -1) as device_key,
        is_sampled,
        sample_from_us,
        sample_to_us,
        bool_or(is_moment) as is_moment,
        max(spacing_us) as spacing_us,
        max(accelerator_type) as accelerator_type,
        max(sdk_version) as sdk_version,
        bool_or(is_measured) as is_measured,
        max(utilisation_ppm) as utilisation_ppm,
        max(driver_ppm) as driver_ppm,
        max(case when component is null then power_uw end) as whole_uw,
        case
            when
                count(component) = count(case when component is not null then power_uw end)
                and count(distinct known_rail) >= coalesce(max(rail_count), 0)
                then sum(case when component is not null then power_uw end)
        end as rails_uw,
        bool_or(is_stuck) as is_stuck,
        bool_or(is_below_band) as is_below_band,
        max(moment_uw) as moment_uw,
        min(least_doubted_uw) as least_doubted_uw,
        max(most_doubted_uw) as most_doubted_uw,
        max(floor_uw) as band_least_uw,
        max(most_uw) as band_most_uw,
        min(first_reading) as first_reading
    from rails_with_types
    group by all
)

-- a chip draws what its rails draw together, known where each of them is; one that is also read as a whole the greater of both
select
    {{ place }}, host_key, device_key, is_sampled, sample_from_us, sample_to_us, is_moment, spacing_us, accelerator_type,
    sdk_version, is_measured, utilisation_ppm, driver_ppm, is_stuck, is_below_band, moment_uw, band_least_uw, band_most_uw,
    cast(greatest(
        whole_uw, case when rails_uw between band_least_uw and band_most_uw then rails_uw end
    ) as bigint) as power_uw,
    {%- for end in ['least', 'most'] %}
    cast({{ end | replace('most', 'greatest') }}(
        {{ end }}_doubted_uw, case when rails_uw not between band_least_uw and band_most_uw then rails_uw end
    ) as bigint) as {{ end }}_doubted_uw,
    {%- endfor %}
    first_reading
from summed_rails

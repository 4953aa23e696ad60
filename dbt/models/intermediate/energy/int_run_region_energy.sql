{{ config(materialized='by_month') }}
{%- set levels = ['low', 'mid', 'high'] %}
{#- what the energy of each part is divided by, to be the run's share of the node in 1e-12 J -#}
{%- set chip_shares = 'cast(shares * 1000000 as decimal(38, 0))' %}
{%- set all_chips = 'cast(metered_chip + driven_chip + seen_chip + unseen_chip as decimal(38, 0))' %}
{#- what the boundaries are sums of, in 1e-12 J of the run: of chips, and of chips with their hosts -#}
{%- set parts = [] %}
{%- for basis in ['metered', 'driven', 'seen', 'unseen', 'node'] %}{% for inside in ['chip', 'chip_host'] %}
{%- do parts.append(basis ~ '_' ~ inside) %}
{%- endfor %}{% endfor %}
{%- set summed = [
    'reserved_us', 'observed_us', 'used_ppm_us', 'filled_us', 'filled_ppm_us', 'metered_us', 'metered_uw_us', 'metered_low_uw_us',
    'metered_high_uw_us', 'driven_us', 'driven_ppm_us', 'driven_low_ppm_us', 'driven_high_ppm_us', 'powered_ppm_us', 'power_alone_us',
    'node_uw_us', 'node_low_uw_us', 'node_high_uw_us',
] %}

with chip_time as (
    select
        usage_month,
        training_run_id,
        regions.region_id,
        time.accelerator_type,
        time.share_numerator,
        time.share_denominator,
        time.is_node_metered,
        time.limit_uw,
        bool_and(time.is_chips_known) as is_chips_known,
        bool_and(time.is_part_known) as is_part_known
        {%- for column in summed %},
        cast(sum(time.{{ column }}) as decimal(38, 0)) as {{ column }}
        {%- endfor %}
    from {{ ref('int_run_chip_time') }} as time
    inner join {{ ref('int_resource_regions') }} as regions using (usage_month, resource_id, training_run_id)
    group by all
),

record_providers as (
    select training_run_id, min(provider_name) as provider_name
    from {{ ref('int_run_records') }}
    where provider_name is not null
    group by all
),

-- from here on a row is of one level of what is not measured: low, mid or high
levels as (
    select 'low' as level
    union all
    select 'mid' as level
    union all
    select 'high' as level
),

watts as (
    select
        chip_time.*,
        levels.level,
        -- whose machine it is: by its type, its region, its record
        coalesce(types.provider_name, places.provider_name, records.provider_name, 'AWS') as provider_name,
        case
            when own.max_power_w is not null then 'user'
            when calibrated.accelerator_type is not null then calibrated.power_confidence
            else power.power_confidence
        end as power_confidence,
        {{ chip_power('idle', 'levels.level') }} as idle_w,
        {{ chip_power('max', 'levels.level') }} as max_w,
        -- chips that nothing observed: idle at the least, their type's mean, full power at the most
        case levels.level
            when 'low' then {{ chip_power('idle', 'low') }}
            when 'high' then {{ chip_power('max', 'high') }}
            else {{ chip_power('mean') }}
        end as unseen_w,
        {{ at_level('host.host_power_w', 'levels.level') }} as host_w,
        host.chips_per_node,
        -- a limit below idle power is in another unit
        case
            when chip_time.limit_uw >= {{ to_units('power.chip_power_idle_w_low', 6) }}
                then cast(chip_time.limit_uw as decimal(38, 0))
        end as held_to_uw
    from chip_time
    cross join levels
    left join {{ ref('accelerator_types') }} as types using (accelerator_type)
    left join {{ ref('regions') }} as places using (region_id)
    left join record_providers as records using (training_run_id)
    left join {{ ref('accelerator_power') }} as power using (accelerator_type)
    left join {{ ref('host_power') }} as host using (accelerator_type)
    left join {{ ref('int_own_figures_by_place') }} as own using (usage_month, training_run_id, region_id, accelerator_type)
    left join {{ ref('int_calibrated_power') }} as calibrated using (usage_month, training_run_id, accelerator_type)
),

chip_time_with_power as (
    select
        *,
        {%- for watts in ['idle', 'max', 'unseen'] %}
        -- what is not read is no more than the limit of that time; without one nothing is taken away
        {{ to_units(watts ~ '_w', 6) }} - greatest({{ to_units(watts ~ '_w', 6) }} - held_to_uw, cast(0 as decimal(38, 0)))
            as {{ watts }}_uw,
        {%- endfor %}
        {{ to_units('host_w', 6) }} as host_uw,
        cast(reserved_us - observed_us as decimal(38, 0)) as unseen_us,
        -- what neither watts nor the driver's share are known of takes the use
        cast(observed_us - metered_us - driven_us as decimal(38, 0)) as seen_us,
        cast(used_ppm_us - powered_ppm_us as decimal(38, 0)) as seen_ppm_us,
        {{ read_at_level('metered', 'uw_us', 'level') }} as read_chip_uw_us,
        {{ read_at_level('driven', 'ppm_us', 'level') }} as read_ppm_us,
        {{ read_at_level('node', 'uw_us', 'level') }} as read_node_uw_us,
        -- a short silence draws what the point after it states; the bounds know nothing of it
        case when level = 'mid' then filled_us else cast(0 as decimal(38, 0)) end as short_us,
        case when level = 'mid' then filled_ppm_us else cast(0 as decimal(38, 0)) end as short_ppm_us,
        cast(share_denominator as decimal(38, 0)) as shares,
        cast(share_denominator * chips_per_node as decimal(38, 0)) as host_shares
    from watts
),

-- of the whole node; null where chips or watts are unknown: no energy is known where the chips are not
energy_of_counted_chips as (
    select
        *,
        case when is_chips_known then cast(read_chip_uw_us * 1000000 as decimal(38, 0)) end as metered_chip,
        case when is_part_known then read_node_uw_us end as node,
        case
            when driven_us = 0 then cast(0 as decimal(38, 0))
            when is_chips_known then cast(
                cast(idle_uw * driven_us as decimal(38, 0)) * 1000000 + cast((max_uw - idle_uw) * read_ppm_us as decimal(38, 0))
                as decimal(38, 0)
            )
        end as driven_chip,
        -- the energy of chips of an unknown type is known where all of it was metered
        case
            when seen_us = 0 and metered_us > 0 then cast(0 as decimal(38, 0))
            when is_chips_known then cast(
                cast(idle_uw * seen_us as decimal(38, 0)) * 1000000 + cast((max_uw - idle_uw) * seen_ppm_us as decimal(38, 0))
                as decimal(38, 0)
            )
        end as seen_chip,
        case
            when unseen_us = 0 and metered_us > 0 then cast(0 as decimal(38, 0))
            when is_chips_known then cast(
                cast(unseen_uw * (unseen_us - short_us) + idle_uw * short_us as decimal(38, 0)) * 1000000
                + cast((max_uw - idle_uw) * short_ppm_us as decimal(38, 0))
                as decimal(38, 0)
            )
        end as unseen_chip,
        {%- for time in ['metered', 'driven', 'seen', 'unseen'] %}
        case when is_chips_known then cast(host_uw * {{ time }}_us as decimal(38, 0)) end as {{ time }}_host,
        {%- endfor %}
        cast(reserved_us * share_numerator * 1000000 as decimal(38, 0)) as share_reserved_ps,
        -- where the node was metered, so was each chip of it
        {%- for name, time in [
            ('observed', 'observed_us'), ('metered', 'metered_us'), ('powered', '(metered_us + driven_us)'),
        ] %}
        cast(case when is_node_metered then reserved_us else {{ time }} end * share_numerator * 1000000 as decimal(38, 0))
            as share_{{ name }}_ps,
        {%- endfor %}
        cast((observed_us - power_alone_us) * share_numerator * 1000000 as decimal(38, 0)) as share_watched_ps,
        cast(used_ppm_us * share_numerator as decimal(38, 0)) as share_used_ps
    from chip_time_with_power
),

run_regions as (
    select
        usage_month,
        training_run_id,
        region_id,
        level,
        min(provider_name) as provider_name,
        case when count(*) = count(provider_name) then min(provider_name) end as known_provider_name,
        case
            when count(*) = count(power_confidence)
                then max(case power_confidence
                    when 'calibrated' then 0 when 'published' then 1 when 'third_party' then 2 when 'user' then 3 else 4
                end)
            else 4
        end as confidence_rank
        {%- for time in ['reserved_ps', 'observed_ps', 'metered_ps', 'powered_ps', 'watched_ps', 'used_ps'] %},
        cast(sum({{ cut_up('share_' ~ time, 'shares') }}) as decimal(38, 0)) as {{ time }}
        {%- endfor %}
        {%- for energy in ['metered_chip', 'driven_chip', 'seen_chip', 'unseen_chip'] %},
        {{ whole_sum(beside_node(share_cut_up(energy, 'share_numerator', chip_shares)), 'decimal(38, 0)') }} as {{ energy }}
        {%- endfor %}
        {%- for energy in ['metered_host', 'driven_host', 'seen_host', 'unseen_host'] %},
        {{ whole_sum(beside_node(share_cut_up(energy, 'share_numerator', 'host_shares')), 'decimal(38, 0)') }} as {{ energy }}
        {%- endfor %},
        {{ whole_sum(of_node(share_cut_up(all_chips, 'share_numerator', chip_shares)), 'decimal(38, 0)') }} as chip_of_node,
        {{ whole_sum(share_cut_up('node', 'share_numerator', 'shares'), 'decimal(38, 0)') }} as node
    from energy_of_counted_chips
    group by all
),

-- the boundaries, each in whole units: IT in 1e-18 J (share in millionths), facility in 1e-22 J (PUE in ten-thousandths)
region_boundaries as (
    select
        run_regions.*,
        coalesce(own.pue_ratio, pue.pue_ratio) as pue_ratio,
        coalesce(own.pue_source, pue.pue_source) as pue_source,
        {{ to_units('coalesce(own.pue_ratio, pue.pue_ratio)', 4) }} as pue_units,
        1000000 + {{ to_units(at_level('overhead.network_storage_share', 'run_regions.level'), 6) }} as it_factor,
        -- what was read at the node holds chip and host
        run_regions.metered_chip + run_regions.metered_host as metered_chip_host,
        run_regions.node as node_chip_host,
        run_regions.driven_chip + run_regions.driven_host as driven_chip_host,
        run_regions.seen_chip + run_regions.seen_host as seen_chip_host,
        run_regions.unseen_chip + run_regions.unseen_host as unseen_chip_host,
        -- the chips of a node draw no more than the node
        case when run_regions.chip_of_node > run_regions.node then run_regions.node else run_regions.chip_of_node end
            as node_chip
    from run_regions
    left join {{ ref('it_overhead') }} as overhead on run_regions.known_provider_name = overhead.provider_name
    left join {{ ref('int_region_pue') }} as pue
        on
            run_regions.usage_month = pue.usage_month
            and run_regions.known_provider_name = pue.provider_name
            and run_regions.region_id = pue.region_id
    left join {{ ref('int_own_figures_by_place') }} as own
        on
            run_regions.usage_month = own.usage_month
            and run_regions.training_run_id = own.training_run_id
            and run_regions.region_id = own.region_id
            and own.accelerator_type = ''
),

region_it as (
    select
        *,
        {%- for inside in ['chip', 'chip_host'] %}
        cast(
            metered_{{ inside }} + node_{{ inside }} + driven_{{ inside }} + seen_{{ inside }} + unseen_{{ inside }}
            as decimal(38, 0)
        ) as {{ inside }},
        {%- endfor %}
        cast((metered_chip_host + node_chip_host) * it_factor as decimal(38, 0)) as metered_it,
        cast((metered_chip_host + node_chip_host + driven_chip_host) * it_factor as decimal(38, 0)) as powered_it,
        cast((metered_chip_host + node_chip_host + driven_chip_host + seen_chip_host) * it_factor as decimal(38, 0)) as seen_it,
        cast(
            (metered_chip_host + node_chip_host + driven_chip_host + seen_chip_host + unseen_chip_host) * it_factor
            as decimal(38, 0)
        ) as it
    from region_boundaries
),

kwh as (
    select
        *,
        {{ kwh('chip') }} as chip_energy_kwh,
        {{ kwh('chip_host') }} as chip_host_energy_kwh,
        {{ kwh('it', 6) }} as it_energy_kwh
        {%- for energy, name in [
            ('it', 'facility_energy_kwh'), ('metered_it', 'metered_kwh'), ('powered_it', 'powered_kwh'), ('seen_it', 'seen_kwh'),
        ] %},
        {{ kwh_of_parts(kwh_part(energy, '//', 'pue_units', 10), kwh_part(energy, '%', 'pue_units', 10), 10) }} as {{ name }}
        {%- endfor %}
    from region_it
),

-- one row of a run and region again: the levels side by side
wide as (
    select
        usage_month, training_run_id, region_id, provider_name, confidence_rank,
        reserved_ps, observed_ps, metered_ps, powered_ps, watched_ps, used_ps, pue_ratio, pue_source
        {%- for level in levels %}{% for boundary in ['chip', 'chip_host', 'it', 'facility'] %},
        max(case when level = '{{ level }}' then {{ boundary }}_energy_kwh end) as {{ boundary }}_energy_kwh_{{ level }}
        {%- endfor %}{% for part in parts + ['it_factor'] %},
        cast(max(case when level = '{{ level }}' then {{ part }} end) as decimal(38, 0)) as {{ part }}_{{ level }}
        {%- endfor %}{% endfor %}
        {%- for basis in ['metered', 'powered', 'seen'] %},
        max(case when level = 'mid' then {{ basis }}_kwh end) as {{ basis }}_kwh
        {%- endfor %}
    from kwh
    group by
        usage_month, training_run_id, region_id, provider_name, confidence_rank,
        reserved_ps, observed_ps, metered_ps, powered_ps, watched_ps, used_ps, pue_ratio, pue_source
)

select
    usage_month, training_run_id, region_id, provider_name,
    -- measured is better than any watts of the catalogue, where nothing was left to them
    case when reserved_ps > 0 and metered_ps = reserved_ps then -1 else confidence_rank end as confidence_rank,
    reserved_ps, observed_ps, metered_ps, powered_ps, watched_ps, used_ps, pue_ratio, pue_source
    {%- for level in levels %}{% for boundary in ['chip', 'chip_host', 'it', 'facility'] %},
    {{ boundary }}_energy_kwh_{{ level }}
    {%- endfor %}{% for part in parts + ['it_factor'] %},
    {{ part }}_{{ level }}
    {%- endfor %}{% endfor %},
    -- each basis has the rounded sum up to it less the one before, so that the parts are never below 0 and add up
    metered_kwh as energy_kwh_measured,
    {{ exact_sum(['powered_kwh', '-metered_kwh'], 9) }} as energy_kwh_driver_power,
    {{ exact_sum(['seen_kwh', '-powered_kwh'], 9) }} as energy_kwh_utilisation_model
from wide

{{ config(materialized='by_month') }}
{%- set levels = ['low', 'mid', 'high'] %}
{%- set unseen = {'low': chip_power('idle', 'low'), 'mid': chip_power('mean'), 'high': chip_power('max', 'high')} %}
{#- what the energy of each part is divided by, to be the run's share of the node in 1e-12 J -#}
{%- set times = ['metered', 'driven', 'seen', 'unseen'] %}
{%- set modelled = ['driven', 'seen', 'unseen'] %}
{%- set chip_shares = 'cast(shares * 1000000 as decimal(38, 0))' %}
{%- set summed = [
    'reserved_us', 'observed_us', 'used_ppm_us', 'filled_us', 'filled_ppm_us', 'metered_us', 'metered_uw_us', 'driven_us',
    'driven_ppm_us', 'powered_ppm_us', 'node_uw_us',
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
        bool_and(time.is_chips_known) as is_chips_known
        {%- for column in summed %},
        cast(sum(time.{{ column }}) as decimal(38, 0)) as {{ column }}
        {%- endfor %}
    from {{ ref('int_run_chip_time') }} as time
    inner join {{ ref('int_resource_regions') }} as regions using (usage_month, resource_id, training_run_id)
    group by all
),

chip_time_with_power as (
    select
        chip_time.*,
        types.provider_name,
        case
            when own.max_power_w is not null then 'user'
            when calibrated.accelerator_type is not null then 'calibrated'
            else power.power_confidence
        end as power_confidence,
        cast(chip_time.reserved_us - chip_time.observed_us as decimal(38, 0)) as unseen_us,
        -- what neither watts nor the driver's share are known of takes the use
        cast(chip_time.observed_us - chip_time.metered_us - chip_time.driven_us as decimal(38, 0)) as seen_us,
        cast(chip_time.used_ppm_us - chip_time.powered_ppm_us as decimal(38, 0)) as seen_ppm_us,
        -- no energy is known where the chips are not
        case when chip_time.is_chips_known then chip_time.share_numerator end as known_numerator,
        cast(chip_time.share_denominator as decimal(38, 0)) as shares,
        cast(chip_time.share_denominator * host.chips_per_node as decimal(38, 0)) as host_shares
        {%- for level in levels %},
        {{ to_units(chip_power('idle', level), 6) }} as idle_uw_{{ level }},
        {{ to_units(chip_power('max', level), 6) }} as max_uw_{{ level }},
        {{ to_units(unseen[level], 6) }} as unseen_uw_{{ level }},
        {{ to_units('host.host_power_w_' ~ level, 6) }} as host_uw_{{ level }}
        {%- endfor %}
    from chip_time
    left join {{ ref('accelerator_types') }} as types using (accelerator_type)
    left join {{ ref('accelerator_power') }} as power using (accelerator_type)
    left join {{ ref('host_power') }} as host using (accelerator_type)
    left join {{ ref('int_own_figures_by_place') }} as own using (usage_month, training_run_id, region_id, accelerator_type)
    left join {{ ref('int_calibrated_power') }} as calibrated using (usage_month, training_run_id, accelerator_type)
),

-- multiplied by the run's share of the node; null where chips or watts are unknown
energy_of_counted_chips as (
    select
        *,
        cast(metered_uw_us * 1000000 * known_numerator as decimal(38, 0)) as metered_chip,
        cast(node_uw_us * known_numerator as decimal(38, 0)) as node
        {%- for level in levels %},
        case
            when driven_us = 0 then cast(0 as decimal(38, 0))
            else cast((
                cast(idle_uw_{{ level }} * driven_us as decimal(38, 0)) * 1000000
                + cast((max_uw_{{ level }} - idle_uw_{{ level }}) * driven_ppm_us as decimal(38, 0))
            ) * known_numerator as decimal(38, 0))
        end as driven_chip_{{ level }},
        -- the energy of chips of an unknown type is known where all of it was metered
        case
            when seen_us = 0 and metered_us > 0 then cast(0 as decimal(38, 0))
            else cast((
                cast(idle_uw_{{ level }} * seen_us as decimal(38, 0)) * 1000000
                + cast((max_uw_{{ level }} - idle_uw_{{ level }}) * seen_ppm_us as decimal(38, 0))
            ) * known_numerator as decimal(38, 0))
        end as seen_chip_{{ level }},
        case
            when unseen_us = 0 and metered_us > 0 then cast(0 as decimal(38, 0))
            {%- if level == 'mid' %}
            -- a short silence draws what the point after it states; the bounds know nothing of it
            else cast((
                cast(unseen_uw_mid * (unseen_us - filled_us) + idle_uw_mid * filled_us as decimal(38, 0)) * 1000000
                + cast((max_uw_mid - idle_uw_mid) * filled_ppm_us as decimal(38, 0))
            ) * known_numerator as decimal(38, 0))
            {%- else %}
            else cast(cast(unseen_uw_{{ level }} * unseen_us as decimal(38, 0)) * 1000000 * known_numerator as decimal(38, 0))
            {%- endif %}
        end as unseen_chip_{{ level }}
        {%- for time in times %},
        cast(cast(host_uw_{{ level }} * {{ time }}_us as decimal(38, 0)) * known_numerator as decimal(38, 0))
            as {{ time }}_host_{{ level }}
        {%- endfor %}
        {%- endfor %},
        cast(reserved_us * share_numerator * 1000000 as decimal(38, 0)) as share_reserved_ps,
        -- where the node was metered, so was each chip of it
        {%- for name, time in [
            ('observed', 'observed_us'), ('metered', 'metered_us'), ('powered', '(metered_us + driven_us)'),
        ] %}
        cast(case when is_node_metered then reserved_us else {{ time }} end * share_numerator * 1000000 as decimal(38, 0))
            as share_{{ name }}_ps,
        {%- endfor %}
        cast(used_ppm_us * share_numerator as decimal(38, 0)) as share_used_ps
    from chip_time_with_power
),

run_regions as (
    select
        usage_month,
        training_run_id,
        region_id,
        min(provider_name) as provider_name,
        case when count(*) = count(provider_name) then min(provider_name) end as known_provider_name,
        case
            when count(*) = count(power_confidence)
                then max(case power_confidence
                    when 'calibrated' then 0 when 'published' then 1 when 'third_party' then 2 when 'user' then 3 else 4
                end)
            else 4
        end as confidence_rank
        {%- for time in ['reserved_ps', 'observed_ps', 'metered_ps', 'powered_ps', 'used_ps'] %},
        cast(sum({{ cut_up('share_' ~ time, 'shares') }}) as decimal(38, 0)) as {{ time }}
        {%- endfor %},
        {{ whole_sum(beside_node(cut_up('metered_chip', chip_shares)), 'decimal(38, 0)') }} as metered_chip,
        {%- for level in levels %}
        {%- for time in modelled %}
        {{ whole_sum(beside_node(cut_up(time ~ '_chip_' ~ level, chip_shares)), 'decimal(38, 0)') }}
            as {{ time }}_chip_{{ level }},
        {%- endfor %}
        {%- for time in times %}
        {{ whole_sum(beside_node(cut_up(time ~ '_host_' ~ level, 'host_shares')), 'decimal(38, 0)') }}
            as {{ time }}_host_{{ level }},
        {%- endfor %}
        {{ whole_sum(of_node(cut_up(
            '(metered_chip + driven_chip_' ~ level ~ ' + seen_chip_' ~ level ~ ' + unseen_chip_' ~ level ~ ')', chip_shares
        )), 'decimal(38, 0)') }} as chip_of_node_{{ level }},
        {%- endfor %}
        {{ whole_sum(cut_up('node', 'shares'), 'decimal(38, 0)') }} as node
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
        -- what was read at the node holds chip and host
        run_regions.metered_chip + run_regions.metered_host_mid + run_regions.node as metered_chip_host,
        run_regions.driven_chip_mid + run_regions.driven_host_mid as driven_chip_host,
        run_regions.seen_chip_mid + run_regions.seen_host_mid as seen_chip_host
        {%- for level in levels %},
        1000000 + {{ to_units('overhead.network_storage_share_' ~ level, 6) }} as it_factor_{{ level }},
        -- the chips of a node draw no more than the node
        cast(
            run_regions.metered_chip
            {%- for time in modelled %}
            + run_regions.{{ time }}_chip_{{ level }}
            {%- endfor %}
            + case
                when run_regions.chip_of_node_{{ level }} > run_regions.node then run_regions.node
                else run_regions.chip_of_node_{{ level }}
            end as decimal(38, 0)
        ) as chip_{{ level }},
        cast(
            run_regions.metered_chip
            {%- for time in modelled %}
            + run_regions.{{ time }}_chip_{{ level }}
            {%- endfor %}
            {%- for time in times %}
            + run_regions.{{ time }}_host_{{ level }}
            {%- endfor %}
            + run_regions.node as decimal(38, 0)
        ) as chip_host_{{ level }}
        {%- endfor %}
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
        cast(metered_chip_host * it_factor_mid as decimal(38, 0)) as metered_it,
        cast((metered_chip_host + driven_chip_host) * it_factor_mid as decimal(38, 0)) as powered_it,
        cast((metered_chip_host + driven_chip_host + seen_chip_host) * it_factor_mid as decimal(38, 0)) as seen_it
        {%- for level in levels %},
        cast(chip_host_{{ level }} * it_factor_{{ level }} as decimal(38, 0)) as it_{{ level }}
        {%- endfor %}
    from region_boundaries
),

-- each basis has the rounded sum up to it less the one before, so that the parts are never below 0 and add up
bases as (
    select
        *,
        {%- for part in ['metered', 'powered', 'seen'] %}
        {{ kwh('cast(' ~ part ~ '_it * pue_units as decimal(38, 0))', 10) }} as {{ part }}_kwh{{ ',' if not loop.last }}
        {%- endfor %}
    from region_it
)

select
    usage_month, training_run_id, region_id, provider_name,
    -- measured is better than any watts of the catalogue, where nothing was left to them
    case when reserved_ps > 0 and metered_ps = reserved_ps then -1 else confidence_rank end as confidence_rank,
    reserved_ps, observed_ps, metered_ps, powered_ps, used_ps, pue_ratio, pue_source
    {%- for level in levels %},
    {{ kwh('chip_' ~ level) }} as chip_energy_kwh_{{ level }},
    {{ kwh('chip_host_' ~ level) }} as chip_host_energy_kwh_{{ level }},
    {{ kwh('it_' ~ level, 6) }} as it_energy_kwh_{{ level }},
    {{ kwh('cast(it_' ~ level ~ ' * pue_units as decimal(38, 0))', 10) }} as facility_energy_kwh_{{ level }}
    {%- endfor %},
    metered_kwh as energy_kwh_measured,
    {{ exact_sum(['powered_kwh', '-metered_kwh'], 9) }} as energy_kwh_driver_power,
    {{ exact_sum(['seen_kwh', '-powered_kwh'], 9) }} as energy_kwh_utilisation_model
from bases

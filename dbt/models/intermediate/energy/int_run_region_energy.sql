{{ config(materialized='by_month') }}
{%- set levels = ['low', 'mid', 'high'] %}
{%- set unseen = {'low': chip_power('idle', 'low'), 'mid': chip_power('mean'), 'high': chip_power('max', 'high')} %}
{#- what the energy of each part is divided by, to be the run's share of the node in 1e-12 J -#}
{%- set divisors = {
    'seen_chip': 'cast(shares * 1000000 as decimal(38, 0))', 'unseen_chip': 'cast(shares * 1000000 as decimal(38, 0))',
    'seen_host': 'host_shares', 'unseen_host': 'host_shares',
} %}

with chip_time as (
    select
        usage_month,
        training_run_id,
        regions.region_id,
        time.accelerator_type,
        time.share_numerator,
        time.share_denominator,
        bool_and(time.is_chips_known) as is_chips_known,
        cast(sum(time.reserved_us) as decimal(38, 0)) as reserved_us,
        cast(sum(time.observed_us) as decimal(38, 0)) as observed_us,
        cast(sum(time.used_ppm_us) as decimal(38, 0)) as used_ppm_us,
        cast(sum(time.filled_us) as decimal(38, 0)) as filled_us,
        cast(sum(time.filled_ppm_us) as decimal(38, 0)) as filled_ppm_us
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
        *
        {%- for level in levels %},
        cast((
            cast(idle_uw_{{ level }} * observed_us as decimal(38, 0)) * 1000000
            + cast((max_uw_{{ level }} - idle_uw_{{ level }}) * used_ppm_us as decimal(38, 0))
        ) * known_numerator as decimal(38, 0)) as seen_chip_{{ level }},
        {%- if level == 'mid' %}
        -- a short silence draws what the point after it says; the bounds know nothing of it
        cast((
            cast(unseen_uw_mid * (unseen_us - filled_us) + idle_uw_mid * filled_us as decimal(38, 0)) * 1000000
            + cast((max_uw_mid - idle_uw_mid) * filled_ppm_us as decimal(38, 0))
        ) * known_numerator as decimal(38, 0)) as unseen_chip_mid,
        {%- else %}
        cast(cast(unseen_uw_{{ level }} * unseen_us as decimal(38, 0)) * 1000000 * known_numerator as decimal(38, 0))
            as unseen_chip_{{ level }},
        {%- endif %}
        cast(cast(host_uw_{{ level }} * observed_us as decimal(38, 0)) * known_numerator as decimal(38, 0))
            as seen_host_{{ level }},
        cast(cast(host_uw_{{ level }} * unseen_us as decimal(38, 0)) * known_numerator as decimal(38, 0))
            as unseen_host_{{ level }}
        {%- endfor %},
        cast(observed_us * share_numerator * 1000000 as decimal(38, 0)) as share_observed_ps,
        cast(reserved_us * share_numerator * 1000000 as decimal(38, 0)) as share_reserved_ps,
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
        {%- for time in ['reserved_ps', 'observed_ps', 'used_ps'] %},
        cast(sum({{ cut_up('share_' ~ time, 'shares') }}) as decimal(38, 0)) as {{ time }}
        {%- endfor %}
        {%- for level in levels %}{% for part, divisor in divisors.items() %},
        {{ whole_sum(cut_up(part ~ '_' ~ level, divisor), 'decimal(38, 0)') }} as {{ part }}_{{ level }}
        {%- endfor %}{% endfor %}
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
        run_regions.seen_chip_mid + run_regions.seen_host_mid as seen_chip_host
        {%- for level in levels %},
        1000000 + {{ to_units('overhead.network_storage_share_' ~ level, 6) }} as it_factor_{{ level }},
        cast(run_regions.seen_chip_{{ level }} + run_regions.unseen_chip_{{ level }} as decimal(38, 0)) as chip_{{ level }},
        cast(
            run_regions.seen_chip_{{ level }}
            + run_regions.unseen_chip_{{ level }}
            + run_regions.seen_host_{{ level }}
            + run_regions.unseen_host_{{ level }} as decimal(38, 0)
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
        cast(seen_chip_host * it_factor_mid as decimal(38, 0)) as seen_it
        {%- for level in levels %},
        cast(chip_host_{{ level }} * it_factor_{{ level }} as decimal(38, 0)) as it_{{ level }}
        {%- endfor %}
    from region_boundaries
)

select
    usage_month, training_run_id, region_id, provider_name, confidence_rank,
    reserved_ps, observed_ps, used_ps, pue_ratio, pue_source
    {%- for level in levels %},
    {{ kwh('chip_' ~ level) }} as chip_energy_kwh_{{ level }},
    {{ kwh('chip_host_' ~ level) }} as chip_host_energy_kwh_{{ level }},
    {{ kwh('it_' ~ level, 6) }} as it_energy_kwh_{{ level }},
    {{ kwh('cast(it_' ~ level ~ ' * pue_units as decimal(38, 0))', 10) }} as facility_energy_kwh_{{ level }}
    {%- endfor %},
    {{ kwh('cast(seen_it * pue_units as decimal(38, 0))', 10) }} as energy_kwh_utilisation_model
from region_it

{%- set levels = ['low', 'mid', 'high'] %}
{%- set unseen = {
    'low': 'power.chip_power_idle_w_low', 'mid': 'power.chip_power_mean_w', 'high': 'power.chip_power_max_w_high',
} %}

with chip_time as (
    select
        time.usage_month,
        time.training_run_id,
        regions.region_id,
        time.accelerator_type,
        time.share_numerator,
        time.share_denominator,
        bool_and(time.is_chips_known) as is_chips_known,
        cast(sum(time.reserved_us) as decimal(38, 0)) as reserved_us,
        cast(sum(time.observed_us) as decimal(38, 0)) as observed_us,
        cast(sum(time.used_ppm_us) as decimal(38, 0)) as used_ppm_us
    from {{ ref('int_run_chip_time') }} as time
    inner join {{ ref('int_resource_regions') }} as regions using (usage_month, resource_id, training_run_id)
    group by
        time.usage_month,
        time.training_run_id,
        regions.region_id,
        time.accelerator_type,
        time.share_numerator,
        time.share_denominator
),

chip_time_with_power as (
    select
        chip_time.*,
        types.provider_name,
        power.power_confidence,
        cast(chip_time.reserved_us - chip_time.observed_us as decimal(38, 0)) as unseen_us,
        cast(chip_time.share_denominator as decimal(38, 0)) as shares,
        cast(chip_time.share_denominator * host.chips_per_node as decimal(38, 0)) as host_shares
        {%- for level in levels %},
        {{ to_units('power.chip_power_idle_w_' ~ level, 6) }} as idle_uw_{{ level }},
        {{ to_units('power.chip_power_max_w_' ~ level, 6) }} as max_uw_{{ level }},
        {{ to_units(unseen[level], 6) }} as unseen_uw_{{ level }},
        {{ to_units('host.host_power_w_' ~ level, 6) }} as host_uw_{{ level }}
        {%- endfor %}
    from chip_time
    left join {{ ref('accelerator_types') }} as types using (accelerator_type)
    left join {{ ref('accelerator_power') }} as power using (accelerator_type)
    left join {{ ref('host_power') }} as host using (accelerator_type)
),

-- multiplied by the run's share of the node; null where chips or watts are unknown
energy_of_counted_chips as (
    select
        *
        {%- for level in levels %},
        case when is_chips_known then cast((
            cast(idle_uw_{{ level }} * observed_us as decimal(38, 0)) * 1000000
            + cast((max_uw_{{ level }} - idle_uw_{{ level }}) * used_ppm_us as decimal(38, 0))
        ) * share_numerator as decimal(38, 0)) end as seen_chip_{{ level }},
        case
            when is_chips_known
                then cast(cast(unseen_uw_{{ level }} * unseen_us as decimal(38, 0)) * share_numerator as decimal(38, 0))
        end as unseen_chip_{{ level }},
        case
            when is_chips_known
                then cast(cast(host_uw_{{ level }} * observed_us as decimal(38, 0)) * share_numerator as decimal(38, 0))
        end as seen_host_{{ level }},
        case
            when is_chips_known
                then cast(cast(host_uw_{{ level }} * unseen_us as decimal(38, 0)) * share_numerator as decimal(38, 0))
        end as unseen_host_{{ level }}
        {%- endfor %},
        cast(observed_us * share_numerator * 1000000 as decimal(38, 0)) as share_observed_ps,
        cast(reserved_us * share_numerator * 1000000 as decimal(38, 0)) as share_reserved_ps,
        cast(used_ppm_us * share_numerator as decimal(38, 0)) as share_used_ps
    from chip_time_with_power
),

energy_of_run as (
    select
        *
        {%- for level in levels %},
        {{ int_div('seen_chip_' ~ level, 'cast(shares * 1000000 as decimal(38, 0))') }} as seen_chip_e12_{{ level }},
        {{ int_div('unseen_chip_' ~ level, 'shares') }} as unseen_chip_e12_{{ level }},
        {{ int_div('seen_host_' ~ level, 'host_shares') }} as seen_host_e12_{{ level }},
        {{ int_div('unseen_host_' ~ level, 'host_shares') }} as unseen_host_e12_{{ level }}
        {%- endfor %},
        {{ int_div('share_observed_ps', 'shares') }} as run_observed_ps,
        {{ int_div('share_reserved_ps', 'shares') }} as run_reserved_ps,
        {{ int_div('share_used_ps', 'shares') }} as run_used_ps
    from energy_of_counted_chips
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
                then max(case power_confidence when 'published' then 1 when 'third_party' then 2 else 3 end) else 3
        end as confidence_rank,
        cast(sum(run_reserved_ps) as decimal(38, 0)) as reserved_ps,
        cast(sum(run_observed_ps) as decimal(38, 0)) as observed_ps,
        cast(sum(run_used_ps) as decimal(38, 0)) as used_ps
        {%- for level in levels %},
        {{ whole_sum('seen_chip_e12_' ~ level, 'decimal(38, 0)') }} as seen_chip_{{ level }},
        {{ whole_sum('unseen_chip_e12_' ~ level, 'decimal(38, 0)') }} as unseen_chip_{{ level }},
        {{ whole_sum('seen_host_e12_' ~ level, 'decimal(38, 0)') }} as seen_host_{{ level }},
        {{ whole_sum('unseen_host_e12_' ~ level, 'decimal(38, 0)') }} as unseen_host_{{ level }}
        {%- endfor %}
    from energy_of_run
    group by usage_month, training_run_id, region_id
),

-- the boundaries, each in whole units: IT in 1e-18 J (share in millionths), facility in 1e-22 J (PUE in ten-thousandths)
region_boundaries as (
    select
        run_regions.*,
        pue.pue_ratio,
        pue.pue_source
        {%- for level in levels %},
        cast(run_regions.seen_chip_{{ level }} + run_regions.unseen_chip_{{ level }} as decimal(38, 0)) as chip_{{ level }},
        cast(
            run_regions.seen_chip_{{ level }}
            + run_regions.unseen_chip_{{ level }}
            + run_regions.seen_host_{{ level }}
            + run_regions.unseen_host_{{ level }} as decimal(38, 0)
        ) as chip_host_{{ level }},
        cast(
            (
                run_regions.seen_chip_{{ level }}
                + run_regions.unseen_chip_{{ level }}
                + run_regions.seen_host_{{ level }}
                + run_regions.unseen_host_{{ level }}
            )
            * (1000000 + {{ to_units('overhead.network_storage_share_' ~ level, 6) }}) as decimal(38, 0)
        ) as it_{{ level }}
        {%- endfor %},
        cast(
            (run_regions.seen_chip_mid + run_regions.seen_host_mid)
            * (1000000 + {{ to_units('overhead.network_storage_share_mid', 6) }}) as decimal(38, 0)
        ) as seen_it_mid,
        {{ to_units('pue.pue_ratio', 4) }} as pue_units
    from run_regions
    left join {{ ref('it_overhead') }} as overhead on run_regions.known_provider_name = overhead.provider_name
    left join {{ ref('int_region_pue') }} as pue
        on
            run_regions.usage_month = pue.usage_month
            and run_regions.known_provider_name = pue.provider_name
            and run_regions.region_id = pue.region_id
),

region_facility as (
    select
        *
        {%- for level in levels %},
        cast(it_{{ level }} * pue_units as decimal(38, 0)) as facility_{{ level }}
        {%- endfor %},
        cast(seen_it_mid * pue_units as decimal(38, 0)) as seen_facility
    from region_boundaries
)

select
    usage_month,
    training_run_id,
    region_id,
    provider_name,
    confidence_rank,
    reserved_ps,
    observed_ps,
    used_ps,
    pue_ratio,
    pue_source
    {%- for level in levels %},
    {{ kwh('chip_' ~ level) }} as chip_energy_kwh_{{ level }},
    {{ kwh('chip_host_' ~ level) }} as chip_host_energy_kwh_{{ level }},
    {{ kwh('it_' ~ level, 6) }} as it_energy_kwh_{{ level }},
    {{ kwh('facility_' ~ level, 10) }} as facility_energy_kwh_{{ level }}
    {%- endfor %},
    {{ kwh('seen_facility', 10) }} as energy_kwh_utilisation_model
from region_facility

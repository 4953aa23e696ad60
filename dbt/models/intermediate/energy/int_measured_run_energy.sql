{{ config(materialized='by_month') }}
{%- set levels = ['low', 'mid', 'high'] %}
{%- set boundaries = ['chip', 'chip_host', 'it', 'facility'] %}
{%- set less = 'cast(1000000 - ' ~ to_units('meters.error_low_share', 6) ~ ' as decimal(38, 0))' %}
{%- set more = 'cast(1000000 + ' ~ to_units('meters.error_high_share', 6) ~ ' as decimal(38, 0))' %}

with run_months as (
    select training_run_id, usage_month, min(provider_name) as provider_name
    from {{ ref('int_run_months') }}
    group by all
),

readings as (
    select
        figures.usage_month,
        figures.training_run_id,
        figures.region_id,
        figures.basis,
        figures.value,
        figures.stated_by,
        figures.figure_id
    from {{ ref('int_judged_energy') }} as figures
    where not figures.is_doubted and {{ in_build_months('figures.usage_month') }}
    -- a reading of the whole run comes before readings of its regions
    qualify rank() over (
        partition by figures.usage_month, figures.training_run_id order by case when figures.region_id is null then 0 else 1 end
    ) = 1
),

-- a reading of a region; or of a run, whose regions share it by chip time. A run that held no chips on record has it in no region
region_parts as (
    select
        readings.figure_id as charge_id,
        coalesce(readings.region_id, modelled.region_id, '') as part_id,
        case
            when sum(coalesce(modelled.reserved_ps, 0)) over (partition by readings.figure_id) > 0
                then cast(coalesce(modelled.reserved_ps, 0) as decimal(38, 0))
            else cast(1 as decimal(38, 0))
        end as w
    from readings
    left join {{ ref('int_run_region_energy') }} as modelled
        on
            readings.usage_month = modelled.usage_month
            and readings.training_run_id = modelled.training_run_id
            and modelled.region_id = coalesce(readings.region_id, modelled.region_id)
),

charges as (
    select figure_id as charge_id, value from readings
),

shares as (
    {{ exact_split('charges', 'region_parts', ['value'], 9) }}
),

measured as (
    select
        readings.usage_month,
        readings.training_run_id,
        shares.part_id as region_id,
        readings.basis,
        shares.value as measured_kwh,
        readings.stated_by
    from shares
    inner join readings on shares.charge_id = readings.figure_id
),

both_sides as (
    select
        run_months.usage_month,
        run_months.training_run_id,
        coalesce(measured.region_id, modelled.region_id) as region_id,
        coalesce(modelled.provider_name, run_months.provider_name) as provider_name,
        modelled.confidence_rank,
        coalesce(modelled.reserved_ps, 0) as reserved_ps,
        coalesce(modelled.observed_ps, 0) as observed_ps,
        coalesce(modelled.metered_ps, 0) as metered_ps,
        coalesce(modelled.powered_ps, 0) as powered_ps,
        coalesce(modelled.watched_ps, 0) as watched_ps,
        coalesce(modelled.used_ps, 0) as used_ps,
        modelled.energy_kwh_measured,
        modelled.energy_kwh_driver_power,
        modelled.energy_kwh_utilisation_model,
        measured.basis,
        {{ scaled('measured.measured_kwh', less, 6) }} as measured_kwh_low,
        measured.measured_kwh as measured_kwh_mid,
        {{ scaled('measured.measured_kwh', more, 6) }} as measured_kwh_high,
        measured.stated_by,
        coalesce(modelled.pue_ratio, own.pue_ratio) as pue_ratio,
        coalesce(modelled.pue_source, own.pue_source) as pue_source
        {%- for level in levels %}{% for boundary in boundaries %},
        modelled.{{ boundary }}_energy_kwh_{{ level }}
        {%- endfor %},
        cast(1000000 + {{ to_units('overhead.network_storage_share_' ~ level, 6) }} as decimal(38, 0)) as it_factor_{{ level }}
        {%- endfor %}
    from {{ ref('int_run_region_energy') }} as modelled
    full outer join measured using (usage_month, training_run_id, region_id)
    inner join run_months using (usage_month, training_run_id)
    -- the meter of energy that the organisation states itself
    left join {{ ref('meters') }} as meters on meters.source_kind = 'user_inputs'
    left join {{ ref('it_overhead') }} as overhead
        on coalesce(modelled.provider_name, run_months.provider_name) = overhead.provider_name
    left join {{ ref('int_own_figures_by_place') }} as own
        on
            run_months.usage_month = own.usage_month
            and run_months.training_run_id = own.training_run_id
            and coalesce(measured.region_id, modelled.region_id) = own.region_id
            and own.accelerator_type = ''
),

-- what lies inside the meter is not known; what lies outside is added by the written method
with_host as (
    select
        *
        {%- for level in levels %},
        case basis
            when 'chip'
                then {{ exact_sum(['measured_kwh_' ~ level, 'chip_host_energy_kwh_' ~ level, '-chip_energy_kwh_' ~ level], 9) }}
            when 'chip_host' then measured_kwh_{{ level }}
        end as measured_chip_host_{{ level }}
        {%- endfor %}
    from both_sides
),

with_it as (
    select
        *
        {%- for level in levels %},
        case
            when basis = 'it' then measured_kwh_{{ level }}
            else {{ scaled('measured_chip_host_' ~ level, 'it_factor_' ~ level, 6) }}
        end as measured_it_{{ level }}
        {%- endfor %}
    from with_host
),

with_facility as (
    select
        *
        {%- for level in levels %},
        case
            when basis = 'facility' then measured_kwh_{{ level }}
            else {{ scaled('measured_it_' ~ level, to_units('pue_ratio', 4), 4) }}
        end as measured_facility_{{ level }}
        {%- endfor %}
    from with_it
)

select
    usage_month,
    training_run_id,
    region_id,
    provider_name,
    basis is not null as is_measured,
    case when basis is null then confidence_rank else 3 end as confidence_rank,
    reserved_ps,
    observed_ps,
    metered_ps,
    powered_ps,
    watched_ps,
    used_ps,
    case when basis is null or basis <> 'facility' then pue_ratio end as pue_ratio,
    case
        when basis is null then pue_source
        when basis = 'facility' then 'user: measured at the facility, ' || stated_by
        else pue_source || ' | user: measured at ' || replace(basis, '_', ' and ') || ', ' || stated_by
    end as pue_source
    {%- for level in levels %},
    case when basis is null then chip_energy_kwh_{{ level }} when basis = 'chip' then measured_kwh_{{ level }} end
        as chip_energy_kwh_{{ level }},
    case when basis is null then chip_host_energy_kwh_{{ level }} else measured_chip_host_{{ level }} end
        as chip_host_energy_kwh_{{ level }},
    case when basis is null then it_energy_kwh_{{ level }} else measured_it_{{ level }} end as it_energy_kwh_{{ level }},
    case when basis is null then facility_energy_kwh_{{ level }} else measured_facility_{{ level }} end
        as facility_energy_kwh_{{ level }}
    {%- endfor %},
    case when basis is null then energy_kwh_measured else measured_facility_mid end as energy_kwh_measured
    {%- for name in ['driver_power', 'utilisation_model'] %},
    case
        when basis is null then energy_kwh_{{ name }}
        when measured_facility_mid is not null then cast(0 as decimal(38, 9))
    end as energy_kwh_{{ name }}
    {%- endfor %}
from with_facility

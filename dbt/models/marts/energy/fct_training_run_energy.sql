{{ config(materialized='by_month') }}
{#- never rounded up to 1: 1 means every interval -#}
{%- set coverage = {} %}
{%- for time in ['observed_ps', 'powered_ps', 'watched_ps'] %}
{%- set ratio -%}
case
        when unknown_ends.is_unknown then null
        when coalesce(energy.reserved_ps, 0) = 0 then cast(0 as double)
        when energy.{{ time }} = energy.reserved_ps then cast(1 as double)
        else least(
            cast(
                {{ int_div(
                    'cast(2 * energy.' ~ time ~ ' * 1000000000 + energy.reserved_ps as decimal(38, 0))',
                    'cast(2 * energy.reserved_ps as decimal(38, 0))'
                ) }} as double
            ),
            999999999e0
        ) / 1e9
    end
{%- endset %}
{%- do coverage.update({time: ratio}) %}
{%- endfor %}

with run_months as (
    select distinct training_run_id, usage_month from {{ ref('int_run_months') }}
),

energy as (
    select
        training_run_id,
        usage_month,
        {{ sums(['reserved_ps', 'observed_ps', 'powered_ps', 'watched_ps', 'used_ps'], 0) }},
        max(confidence_rank) as confidence_rank,
        bool_and(is_measured) as is_measured,
        -- where a part of the run was metered, the rest decides
        bool_and(is_measured or observed_ps = reserved_ps) and sum(reserved_ps) > 0 as is_seen,
        bool_and(is_measured or powered_ps = reserved_ps) and sum(reserved_ps) > 0 as is_powered,
        bool_and(is_measured or metered_ps = reserved_ps) and sum(reserved_ps) > 0 as is_metered,
        min(pue_ratio) as least_pue_ratio,
        max(pue_ratio) as greatest_pue_ratio,
        min(pue_source) as first_pue_source,
        max(pue_source) as last_pue_source
        {%- for boundary in ['chip', 'chip_host', 'it', 'facility'] %}{% for level in ['low', 'mid', 'high'] %},
        {{ whole_sum(boundary ~ '_energy_kwh_' ~ level, 'decimal(38, 9)') }} as {{ boundary }}_energy_kwh_{{ level }}
        {%- endfor %}{% endfor %},
        {{ whole_sum('energy_kwh_measured', 'decimal(38, 9)') }} as energy_kwh_measured,
        {{ whole_sum('energy_kwh_driver_power', 'decimal(38, 9)') }} as energy_kwh_driver_power,
        {{ whole_sum('energy_kwh_utilisation_model', 'decimal(38, 9)') }} as energy_kwh_utilisation_model
    from {{ ref('int_measured_run_energy') }}
    group by all
),

idle_shares as (
    select training_run_id, usage_month, {{ whole_sum('facility_energy_kwh', 'decimal(38, 9)') }} as facility_energy_kwh
    from {{ ref('int_idle_energy_shares') }}
    group by all
),

unknown_ends as (
    select distinct training_run_id, usage_month, true as is_unknown from {{ ref('int_month_holdings') }}
    where held_to is null
),

held_runs as (
    select distinct training_run_id, usage_month, true as is_held from {{ ref('int_month_holdings') }}
),

-- a tag shows how long its run held a machine, and a type without known chips not how many. Pods that a record names were on
-- machines; where no record names one, the bill shows what they cost and not what they held
unknown_chips as (
    select distinct training_run_id, usage_month, true as is_unknown
    from (
        select training_run_id, usage_month from {{ ref('int_tag_holdings') }}
        where held_chips is null

        union all

        select attributions.training_run_id, attributions.usage_month
        from {{ ref('int_line_attributions') }} as attributions
        inner join {{ ref('int_charges') }} as charges using (usage_month, line_id)
        left join held_runs
            on attributions.training_run_id = held_runs.training_run_id and attributions.usage_month = held_runs.usage_month
        where
            attributions.attribution_rule = 'split_allocation'
            and charges.is_usage
            and charges.is_accelerator_type
            and held_runs.is_held is null
            and {{ in_build_months('attributions.usage_month') }}
    ) as unknown_months
)

select
    training_run_id,
    usage_month
    {%- for boundary in ['chip', 'chip_host', 'it', 'facility'] %},
    energy.{{ boundary }}_energy_kwh_mid as {{ boundary }}_energy_kwh,
    energy.{{ boundary }}_energy_kwh_low,
    energy.{{ boundary }}_energy_kwh_high
    {%- endfor %},
    case
        when energy.facility_energy_kwh_mid is null then null
        when idle_shares.training_run_id is null then cast(0 as decimal(38, 9))
        else idle_shares.facility_energy_kwh
    end as idle_share_facility_energy_kwh,
    energy.energy_kwh_measured,
    energy.energy_kwh_driver_power,
    energy.energy_kwh_utilisation_model,
    -- the weakest basis takes the rounding, so that the four add up to the facility figure
    {{ exact_sum(
        [
            'energy.facility_energy_kwh_mid', '-energy.energy_kwh_measured', '-energy.energy_kwh_driver_power',
            '-energy.energy_kwh_utilisation_model',
        ], 9
    ) }} as energy_kwh_time_model,
    -- a row without a figure has the weaker of both; where it is unknown how long chips were held, nothing is known of them
    case
        when energy.is_measured then 'measured'
        when unknown_ends.is_unknown then null
        -- also of machines whose chips no record counts
        when energy.energy_kwh_measured > 0 and energy.energy_kwh_measured = energy.facility_energy_kwh_mid then 'measured'
        when not energy.is_seen or coalesce(energy.chip_energy_kwh_mid, energy.facility_energy_kwh_mid) is null then 'time_model'
        when energy.is_metered then 'measured'
        when energy.is_powered then 'driver_power'
        when energy.is_seen then 'utilisation_model'
        else 'time_model'
    end as energy_basis,
    case
        when energy.is_measured then 'user'
        when unknown_ends.is_unknown then null
        when energy.energy_kwh_measured > 0 and energy.energy_kwh_measured = energy.facility_energy_kwh_mid then 'measured'
        when coalesce(energy.chip_energy_kwh_mid, energy.facility_energy_kwh_mid) is null then 'assumed'
        when energy.confidence_rank = -1 then 'measured'
        when energy.confidence_rank = 0 then 'calibrated'
        when energy.confidence_rank = 1 then 'published'
        when energy.confidence_rank = 2 then 'third_party'
        when energy.confidence_rank = 3 then 'user'
        else 'assumed'
    end as power_confidence,
    {{ coverage['observed_ps'] }} as telemetry_coverage_ratio,
    case
        when unknown_ends.is_unknown or unknown_chips.is_unknown then null
        else coalesce({{ hours('energy.reserved_ps') }}, cast(0 as decimal(38, 9)))
    end as reserved_chip_hours,
    case
        when energy.watched_ps > 0 and unknown_ends.is_unknown is null then {{ hours('energy.used_ps') }}
    end as busy_chip_hours,
    case
        when energy.facility_energy_kwh_mid is null then null
        when energy.least_pue_ratio = energy.greatest_pue_ratio then cast(energy.least_pue_ratio as double)
        when energy.it_energy_kwh_mid > 0
            then {{ nine_digits('cast(energy.facility_energy_kwh_mid as double) / cast(energy.it_energy_kwh_mid as double)') }}
    end as pue_ratio,
    case
        when energy.facility_energy_kwh_mid is null then null
        when energy.first_pue_source = energy.last_pue_source then energy.first_pue_source
        else energy.first_pue_source || ' | ' || energy.last_pue_source
    end as pue_source,
    implied.implied_energy_kwh,
    {{ coverage['powered_ps'] }} as power_coverage_ratio,
    {{ coverage['watched_ps'] }} as use_coverage_ratio
from run_months
left join energy using (training_run_id, usage_month)
left join idle_shares using (training_run_id, usage_month)
left join unknown_ends using (training_run_id, usage_month)
left join unknown_chips using (training_run_id, usage_month)
left join {{ ref('int_implied_energy') }} as implied using (training_run_id, usage_month)

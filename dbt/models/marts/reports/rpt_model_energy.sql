{%- set boundaries = {
    'chip': 'Energy of the accelerator chips',
    'chip_host': 'Energy of the chips and their share of the host, by chips held',
    'it': 'Energy of chips, hosts and a share for network and storage',
    'facility': 'Energy of the facility: chips, hosts, network and storage, times PUE',
} %}
{%- set ends = ['', '_low', '_high'] %}

with runs as (
    select
        training_run_id,
        model_name,
        attempt_count,
        -- records state operations for the useful tokens; energy is of every attempt, and so are these: 6 tokens for 3 useful
        -- ones are twice as many
        case
            when attempt_count <= 1 or tokens = useful_tokens then model_flops
            when useful_tokens > 0 then model_flops * (cast(tokens as double) / cast(useful_tokens as double))
        end as model_flops,
        started_at,
        ended_at
    from {{ ref('dim_training_runs') }}
    where model_name is not null
),

run_times as (
    select
        model_name,
        training_run_id,
        attempt_count,
        {{ whole_number('model_flops') }} as model_flops,
        started_at,
        ended_at,
        -- runs of a model may go on at the same time: an hour in which two of them ran is one hour
        max(ended_at) over (
            partition by model_name order by started_at, ended_at, training_run_id
            rows between unbounded preceding and 1 preceding
        ) as reached
    from runs
),

models as (
    select
        model_name,
        count(*) as run_count,
        cast(sum(attempt_count) as bigint) as attempt_count,
        {{ whole_sum('model_flops', 'decimal(38, 0)') }} as model_flops,
        case
            when count(*) = count(started_at) and count(*) = count(ended_at)
                then cast(sum(greatest(
                    {{ microseconds('greatest(started_at, coalesce(reached, started_at))', 'ended_at') }},
                    cast(0 as decimal(38, 0))
                )) as decimal(38, 0))
        end as training_us
    from run_times
    group by all
),

-- a run without a month has a row without figures here: its energy is not 0
run_months as (
    select
        runs.model_name,
        energy.training_run_id is null as has_no_month,
        coalesce(energy.telemetry_coverage_ratio, 0) as telemetry_coverage_ratio,
        energy.reserved_chip_hours
        {%- for boundary in boundaries %}{% for end in ends %},
        energy.{{ boundary }}_energy_kwh{{ end }}
        {%- endfor %}{% endfor %},
        case energy.energy_basis when 'measured' then 1 when 'driver_power' then 2 when 'utilisation_model' then 3 else 4 end
            as basis_rank,
        case energy.power_confidence
            when 'measured' then 1 when 'calibrated' then 2 when 'published' then 3 when 'third_party' then 4 when 'user' then 5
            else 6
        end as confidence_rank
    from runs
    left join {{ ref('fct_training_run_energy') }} as energy using (training_run_id)
),

energies as (
    select
        model_name,
        count(*) as month_count,
        bool_or(has_no_month) as has_no_month,
        bool_or(not has_no_month and reserved_chip_hours is null) as has_unknown_end,
        max(basis_rank) as basis_rank,
        max(confidence_rank) as confidence_rank,
        min(telemetry_coverage_ratio) as least_coverage,
        cast(sum(reserved_chip_hours) as decimal(38, 9)) as known_chip_hours,
        cast(sum(
            cast(coalesce(reserved_chip_hours, 0) as decimal(27, 9)) * cast(telemetry_coverage_ratio as decimal(10, 9))
        ) as decimal(38, 18)) as observed_chip_hours,
        {{ whole_sums(['reserved_chip_hours'], 9) }}
        {%- for boundary in boundaries %},
        count({{ boundary }}_energy_kwh) as {{ boundary }}_month_count
        {%- for end in ends %},
        {{ whole_sum(boundary ~ '_energy_kwh' ~ end, 'decimal(38, 9)') }} as {{ boundary }}_energy_kwh{{ end }}
        {%- endfor %}{% endfor %}
    from run_months
    group by all
),

model_energies as (
    {%- for boundary, words in boundaries.items() %}
    select
        energies.*,
        '{{ boundary }}' as boundary,
        '{{ words }}' as boundary_words,
        {{ boundary }}_month_count as known_month_count,
        {{ boundary }}_energy_kwh as energy_kwh,
        {{ boundary }}_energy_kwh_low as energy_kwh_low,
        {{ boundary }}_energy_kwh_high as energy_kwh_high
    from energies
    {%- if not loop.last %}

    union all
    {% endif %}
    {%- endfor %}
)

select
    model_name,
    energies.boundary,
    models.run_count,
    models.attempt_count,
    energies.energy_kwh,
    energies.energy_kwh_low,
    energies.energy_kwh_high,
    energies.reserved_chip_hours as chip_hours,
    cast({{ nine_digits('cast(models.training_us as double) / 86400e6') }} as double) as training_days,
    -- through text, which every engine reads into the same nearest double
    cast(cast(models.model_flops as string) as double) as model_flops,
    case energies.confidence_rank
        when 1 then 'measured' when 2 then 'calibrated' when 3 then 'published' when 4 then 'third_party' when 5 then 'user'
        else 'assumed'
    end as power_confidence,
    -- never rounded up to 1: 1 means that every interval was observed
    case
        when energies.least_coverage = 1 then cast(1 as double)
        when coalesce(energies.known_chip_hours, 0) = 0 then cast(0 as double)
        else cast(least({{ nine_digits(
            'cast(energies.observed_chip_hours as double) / cast(energies.known_chip_hours as double)'
        ) }}, 999999999e0 / 1e9) as double)
    end as telemetry_coverage_ratio,
    energies.boundary_words
    || ', of every attempt of every run that names the model, failed and interrupted ones included; machines kept ready are not'
    || ' included. '
    || case energies.basis_rank
        when 1 then 'Measured by the organisation.'
        when 2 then 'At least from power that drivers state.'
        when 3 then 'Modelled from measured use, between idle and maximum power.'
        else 'Modelled; where no use was measured, from chip-hours and mean power.'
    end
    || ' Low and high are plausible bounds of all runs together, not a confidence interval.' as method,
    case
        when energies.energy_kwh is not null then null
        else 'the energy of '
            || cast(energies.month_count - energies.known_month_count as string)
            || ' of '
            || cast(energies.month_count as string)
            || ' months of runs is not known: '
            || case
                when energies.has_unknown_end then 'until when machines were held is not recorded'
                when energies.has_no_month then 'a run has neither a bill nor a machine of its own'
                when energies.known_month_count < energies.facility_month_count
                    then 'it was metered further out, and what of it was used inside is not known'
                else 'chips, their power or the PUE of the place are not known'
            end
    end as not_available_reason
from model_energies as energies
inner join models using (model_name)

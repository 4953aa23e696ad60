{%- set is_lost = "state in ('failed', 'interrupted')" %}
{%- set is_billed = 'training_run_id in (select training_run_id from intermediate.int_cell_parts)' %}
{%- set rows_of = [
    'int_attempt_losses where ' ~ is_lost ~ ' and ' ~ is_billed, 'int_split_charges', 'int_known_charges', 'int_aws_block_shares',
    "int_gcp_lines where pod_allocation = 'unallocated'", 'int_aws_pod_charges',
] %}
{{ config(materialized='by_month', meta={'empty_without': rows_of}) }}
{%- set place = 'usage_month, provider_name, charge_period_start, period_end, billing_currency, training_run_id' %}
{%- set energies = ['facility_energy_kwh', 'modelled_location_based_kgco2e'] %}

-- all attempts of runs of which one was lost
with attempts as (
    select
        training_run_id,
        attempt_id,
        state,
        started_at,
        coalesce(
            ended_at,
            lead(started_at) over (partition by training_run_id order by started_at, attempt_id),
            timestamp '9999-01-01 00:00:00'
        ) as ended_at,
        case when {{ is_lost }} and kept_until > started_at then kept_until end as kept_until
    from {{ ref('int_attempt_losses') }}
    qualify bool_or({{ is_lost }}) over (partition by training_run_id)
),

-- what a checkpoint saved of a lost attempt is not lost
pieces as (
    select training_run_id, attempt_id, 'kept' as state, started_at, kept_until as ended_at
    from attempts
    where kept_until is not null

    union all

    select training_run_id, attempt_id, state, coalesce(kept_until, started_at) as started_at, ended_at
    from attempts
),

attempt_pieces as (
    select *, bool_and({{ is_lost }}) over (partition by training_run_id) as is_all_lost
    from pieces
),

lost_runs as (
    select distinct training_run_id from attempts
),

charge_parts as (
    {{ charge_parts(
        built_months_of(ref('int_line_attributions')),
        built_months_of(ref('int_split_charges'))
    ) }}
),

-- rows of one time and run are of one attempt
parts as (
    select
        parts.usage_month,
        parts.provider_name,
        parts.charge_period_start,
        least(parts.charge_period_end, cast(parts.usage_month as timestamp) + interval 1 month) as period_end,
        parts.billing_currency,
        parts.part_run_id as training_run_id,
        parts.reason,
        cast(sum(parts.part_effective_cost) as decimal(38, 12)) as effective_cost,
        cast(sum(case when parts.cost_component = 'accelerator' then parts.part_weight else 0 end) as decimal(38, 12)) as weight
    from charge_parts as parts
    left join lost_runs on parts.part_run_id = lost_runs.training_run_id
    where parts.reason = 'idle' or lost_runs.training_run_id is not null
    group by all
),

-- a row of the bill is of the attempt that used most of it, else of the nearest: where one failed at 10:30 and the next began at
-- 10:40, the hour from 10:00 is failed. A row without an hour is no evidence of attempts, unless all of them were lost.
-- Nearly every row is in use by some attempt, and is compared with those alone: a run of a month may have a thousand
used_parts as (
    select
        parts.{{ place | replace(', ', ', parts.') }}, parts.reason, parts.effective_cost, parts.weight,
        attempts.attempt_id, attempts.state, attempts.is_all_lost, attempts.started_at, attempts.ended_at
    from parts
    inner join attempt_pieces as attempts using (training_run_id)
    where
        attempts.started_at < parts.period_end
        and attempts.ended_at > parts.charge_period_start
        and attempts.started_at < attempts.ended_at
        and parts.charge_period_start < parts.period_end
),

used_places as (
    select distinct {{ place }}, true as is_used from used_parts
),

compared_parts as (
    select * from used_parts

    union all

    select
        parts.{{ place | replace(', ', ', parts.') }}, parts.reason, parts.effective_cost, parts.weight,
        attempts.attempt_id, attempts.state, attempts.is_all_lost, attempts.started_at, attempts.ended_at
    from parts
    inner join attempt_pieces as attempts using (training_run_id)
    left join used_places using ({{ place }})
    where used_places.is_used is null
),

parts_of_attempts as (
    select *
    from compared_parts
    qualify row_number() over (
        partition by {{ place }}
        order by
            {{ microseconds('greatest(charge_period_start, started_at)', 'least(period_end, ended_at)') }} desc,
            started_at desc,
            attempt_id
    ) = 1
),

lost_parts as (
    select
        usage_month,
        provider_name,
        cast(date_trunc('week', greatest(
            coalesce(charge_period_start, started_at, cast(usage_month as timestamp)),
            case when started_at < period_end then started_at end,
            cast(usage_month as timestamp)
        )) as date) as week_start,
        state as cause,
        training_run_id,
        coalesce(attempt_id, '') as attempt_id,
        billing_currency,
        effective_cost,
        weight
    from parts_of_attempts
    where {{ is_lost }} and (charge_period_start is not null or is_all_lost)

    union all

    select
        usage_month,
        provider_name,
        cast(date_trunc('week', coalesce(charge_period_start, cast(usage_month as timestamp))) as date) as week_start,
        'idle' as cause,
        '' as training_run_id,
        '' as attempt_id,
        billing_currency,
        effective_cost,
        weight
    from parts
    where reason = 'idle'
),

weeks as (
    select
        usage_month,
        case when cause = 'idle' then provider_name else '' end as provider_name,
        week_start,
        cause,
        training_run_id,
        attempt_id,
        billing_currency,
        {{ sums(['effective_cost', 'weight'], 12) }},
        cast(usage_month as string) || '|' || case when cause = 'idle' then provider_name else training_run_id end as charge_id,
        cast(week_start as string) || '|' || attempt_id || '|' || billing_currency as part_id
    from lost_parts
    group by all
),

-- the energy of a run's month goes to its attempts and weeks as the price of its accelerators does
run_weights as (
    select
        training_run_id,
        usage_month,
        cast(usage_month as string) || '|' || training_run_id as charge_id,
        cast(sum(weight) as decimal(38, 12)) as weight
    from {{ ref('int_cell_parts') }}
    where cost_component = 'accelerator' and {{ in_build_months() }}
    and training_run_id in (select lost_runs.training_run_id from lost_runs)
    group by all
),

run_masses as (
    select training_run_id, usage_month, {{ whole_sums(['modelled_location_based_kgco2e'], 9) }}
    from {{ ref('fct_training_run_emissions_modelled') }}
    where factor_set_id = 'location_direct_v1' and {{ in_build_months() }}
    group by all
),

idle_energies as (
    select
        shares.usage_month,
        shares.provider_name,
        {{ whole_sum('shares.facility_energy_kwh', 'decimal(38, 9)') }} as facility_energy_kwh,
        {{ whole_sum(scaled('shares.facility_energy_kwh', to_units('factors.value', 9), 9), 'decimal(38, 9)') }}
            as modelled_location_based_kgco2e
    from {{ ref('int_idle_energy_shares') }} as shares
    left join {{ ref('int_region_factors') }} as factors using (usage_month, provider_name, region_id)
    where {{ in_build_months('shares.usage_month') }}
    group by all
),

charges as (
    select
        run_weights.charge_id,
        energy.facility_energy_kwh,
        run_masses.modelled_location_based_kgco2e
    from run_weights
    inner join {{ ref('fct_training_run_energy') }} as energy using (training_run_id, usage_month)
    left join run_masses using (training_run_id, usage_month)
    where run_weights.weight > 0

    union all

    select
        cast(usage_month as string) || '|' || provider_name as charge_id,
        {{ energies | join(', ') }}
    from idle_energies
),

lost_weights as (
    select charge_id, part_id, cast(greatest({{ to_units('weight', 12) }}, 0) as decimal(38, 0)) as w from weeks
),

split_parts as (
    select charge_id, part_id, w from lost_weights

    union all

    select
        run_weights.charge_id,
        '~residual' as part_id,
        cast(greatest({{ to_units('max(run_weights.weight)', 12) }} - sum(lost_weights.w), 0) as decimal(38, 0)) as w
    from run_weights
    inner join lost_weights using (charge_id)
    group by run_weights.charge_id
),

split as (
    {{ exact_split('charges', 'split_parts', energies, 9) }}
)

select
    weeks.usage_month,
    weeks.week_start,
    weeks.cause,
    weeks.training_run_id,
    weeks.attempt_id,
    weeks.billing_currency,
    cast(sum(weeks.effective_cost) as decimal(38, 12)) as effective_cost,
    {{ whole_sum('split.facility_energy_kwh', 'decimal(38, 9)') }} as facility_energy_kwh,
    {{ whole_sum('split.modelled_location_based_kgco2e', 'decimal(38, 9)') }} as modelled_location_based_kgco2e
from weeks
left join split using (charge_id, part_id)
group by all

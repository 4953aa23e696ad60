{%- set fields = ['steps', 'tokens', 'useful_tokens', 'model_flops'] %}

with stated as (
    select
        training_run_id
        {%- for field in fields %},
        min_by(record_system, precedence) filter (where {{ field }} is not null) as {{ field }}_source
        {%- endfor %}
    from {{ ref('int_run_records') }}
    where not is_ambiguous
    group by training_run_id
),

held as (
    select
        training_run_id,
        case
            when count(*) = count(ended_at)
                then cast(sum({{ microseconds('started_at', 'ended_at') }}) as decimal(38, 0))
        end as held_us
    from {{ ref('int_attempt_losses') }}
    group by training_run_id
),

chip_times as (
    select
        training_run_id,
        case
            when count(*) = count(held_chips) and bool_and(ended_at < timestamp '9999-01-01 00:00:00')
                then cast(sum(
                    cast(held_chips as decimal(19, 0)) * cast({{ microseconds('started_at', 'ended_at') }} as decimal(19, 0))
                ) as decimal(38, 0))
        end as chip_us
    from {{ ref('int_run_holdings') }}
    where not is_ambiguous
    group by training_run_id
),

runs as (
    select
        dim.training_run_id,
        dim.steps,
        dim.tokens,
        dim.useful_tokens,
        dim.model_flops,
        {%- for field in fields %}
        coalesce(
            stated.{{ field }}_source,
            case when dim.{{ field }} is not null then progress.{{ 'steps' if field == 'steps' else 'log' }}_system end
        ) as {{ field }}_source,
        {%- endfor %}
        dim.is_multi_accelerator,
        dim.accelerator_type,
        progress.arithmetic,
        progress.timed_flops,
        progress.timed_seconds,
        progress.timed_steps,
        progress.useful_us,
        held.held_us,
        chip_times.chip_us,
        coalesce(progress.devices_per_chip, 1) as devices_per_chip,
        -- operations of a chip in a second, in the format it computed in; where no log names one, in bf16
        case coalesce(progress.arithmetic, 'bf16')
            when 'bf16' then cast(types.peak_bf16_tflops as double) * 1e12
            when 'fp8' then cast(types.peak_fp8_tflops as double) * 1e12
        end as peak_flops
    from {{ ref('dim_training_runs') }} as dim
    left join stated using (training_run_id)
    left join {{ ref('int_run_progress') }} as progress using (training_run_id)
    left join held using (training_run_id)
    left join chip_times using (training_run_id)
    left join {{ ref('accelerator_types') }} as types on dim.accelerator_type = types.accelerator_type
),

rates as (
    select
        *,
        case
            when is_multi_accelerator or peak_flops is null then null
            when timed_seconds > 0
                then cast(timed_flops as double) / (cast(timed_seconds as double) * peak_flops / devices_per_chip)
            when chip_us > 0 and model_flops > 0 then model_flops / (cast(chip_us as double) / 1e6 * peak_flops)
        end as mfu,
        case
            when not is_multi_accelerator and chip_us > 0 and model_flops > 0
                then model_flops / (cast(chip_us as double) / 1e6 * peak_flops)
        end as held_time_utilisation,
        case when held_us > 0 and timed_steps > 0 then cast(useful_us as double) / cast(held_us as double) end as goodput
    from runs
)

select
    training_run_id,
    {%- for field in fields %}
    {{ field }},
    {{ field }}_source,
    {%- endfor %}
    cast(case when mfu <= 1 then {{ nine_digits('mfu') }} end as double) as mfu_ratio,
    case when mfu <= 1 then coalesce(arithmetic, 'bf16, which no log states') end as mfu_arithmetic,
    case
        when mfu <= 1 and timed_seconds > 0 then 'time of the steps'
        when mfu <= 1 then 'time that chips were held'
    end as mfu_basis,
    case
        when mfu <= 1 then null
        when mfu > 1
            then 'more operations are on record than the chips could have done in ' || coalesce(arithmetic, 'bf16')
        when is_multi_accelerator then 'the run used several types of accelerator'
        when accelerator_type is null then 'the type of its accelerators is not known'
        when peak_flops is null then 'no peak of its accelerator in ' || coalesce(arithmetic, 'bf16') || ' is in the catalogue'
        when model_flops is null then 'no record and no log states operations of the model'
        else 'neither the time of its steps nor the time that its chips were held is known'
    end as mfu_because,
    cast(case when goodput <= 1 then {{ nine_digits('goodput') }} end as double) as goodput_ratio,
    case
        when goodput <= 1 then null
        when timed_steps is null then 'no log tells when its steps began'
        when goodput > 1 then 'its steps lie outside its recorded attempts'
        else 'the time of its attempts is not known'
    end as goodput_because,
    {{ hours('useful_us * 1000000') }} as useful_hours,
    {{ hours('held_us * 1000000') }} as held_hours,
    cast(case when held_time_utilisation <= 1 then {{ nine_digits('held_time_utilisation') }} end as double)
        as held_time_utilisation_ratio
from rates

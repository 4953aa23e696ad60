{{ config(meta={'empty_without': ['int_run_steps', 'stg_training_runs__progress']}) }}
{#- of these the framework sees two devices on a chip, of all others one (docs/sources/training_runs.md) #}
{%- set two_devices = "('v2', 'v3', 'v7x')" %}

with records as (
    select distinct record_system, record_run_id, training_run_id
    from {{ ref('int_run_records') }}
    where not is_ambiguous
),

stated as (
    select distinct
        records.training_run_id,
        record_system,
        progress.progress_kind,
        progress.happened_at,
        progress.step,
        progress.seconds,
        progress.device_tokens,
        progress.device_flops,
        progress.device_count,
        progress.arithmetic
    from {{ ref('stg_training_runs__progress') }} as progress
    inner join records using (record_system, record_run_id)
),

-- metrics by step go before the log of the same steps, whose figures are rounded
step_rows as (
    select training_run_id, record_system, step, seconds, device_tokens, device_flops
    from stated
    where progress_kind = 'step' and happened_at is null and step is not null
    qualify record_system = min(record_system) over (partition by training_run_id)
),

steps as (
    select
        training_run_id,
        record_system,
        step,
        {{ whole_sum('device_tokens', 'decimal(38, 0)') }} as all_device_tokens,
        max(device_tokens) as device_tokens,
        max(device_flops) as device_flops,
        -- done again, it counts once, with the shorter of its times
        min(seconds) as seconds
    from step_rows
    group by all
),

logs as (
    select
        training_run_id,
        min(record_system) as log_system,
        count(*) as steps,
        {{ whole_sum('device_tokens', 'decimal(38, 0)') }} as useful_device_tokens,
        {{ whole_sum('all_device_tokens', 'decimal(38, 0)') }} as device_tokens,
        {{ whole_sum('device_flops', 'decimal(38, 0)') }} as device_flops,
        -- steps that state both, so that a rate is one of the same steps
        cast(sum(case when seconds > 0 then device_flops end) as decimal(38, 0)) as timed_flops,
        cast(sum(case when device_flops is not null and seconds > 0 then seconds end) as decimal(38, 9)) as timed_seconds
    from steps
    group by training_run_id
),

-- what logs say of devices and arithmetic, where they agree
devices as (
    select
        training_run_id,
        case when min(device_count) = max(device_count) then min(device_count) end as device_count,
        count(device_count) > 0 as is_stated,
        case when min(arithmetic) = max(arithmetic) then min(arithmetic) end as arithmetic
    from stated
    group by training_run_id
),

timed_steps as (
    select
        training_run_id,
        count(distinct case when is_kept then step end) as steps,
        cast(coalesce(sum(case when is_kept then step_us end), 0) as decimal(38, 0)) as useful_us
    from {{ ref('int_run_steps') }}
    group by training_run_id
),

chips as (
    select
        chips.training_run_id,
        case when not chips.is_multi_accelerator then chips.accelerator_type end as accelerator_type,
        chips.chip_count,
        case when chips.accelerator_type in {{ two_devices }} then 2 else 1 end as devices_per_chip,
        types.peak_bf16_tflops,
        types.peak_fp8_tflops
    from {{ ref('int_run_chips') }} as chips
    left join {{ ref('accelerator_types') }} as types
        on case when not chips.is_multi_accelerator then chips.accelerator_type end = types.accelerator_type
),

found as (
    select
        ids.training_run_id,
        logs.log_system,
        logs.timed_flops,
        logs.timed_seconds,
        logs.steps,
        logs.device_tokens,
        logs.useful_device_tokens,
        logs.device_flops,
        devices.arithmetic,
        -- a count that logs contradict is none; where none of them counts, the chips that were held tell
        coalesce(
            devices.device_count,
            case
                when not coalesce(devices.is_stated, false) and chips.accelerator_type is not null
                    then chips.chip_count * chips.devices_per_chip
            end
        ) as device_count,
        chips.devices_per_chip,
        chips.peak_bf16_tflops,
        chips.peak_fp8_tflops,
        timed_steps.steps as timed_steps,
        timed_steps.useful_us
    from (select distinct training_run_id from stated) as ids
    left join logs using (training_run_id)
    left join devices using (training_run_id)
    left join chips using (training_run_id)
    left join timed_steps using (training_run_id)
)

select
    training_run_id,
    log_system,
    timed_flops,
    timed_seconds,
    arithmetic,
    device_count,
    devices_per_chip,
    timed_steps,
    useful_us,
    case when steps is null then 'goodput' else log_system end as steps_system,
    cast(coalesce(steps, timed_steps) as bigint) as logged_steps,
    cast(cast(device_tokens as decimal(19, 0)) * cast(device_count as decimal(18, 0)) as bigint) as logged_tokens,
    cast(cast(useful_device_tokens as decimal(19, 0)) * cast(device_count as decimal(18, 0)) as bigint) as logged_useful_tokens,
    cast(device_flops as double) * cast(device_count as double) as logged_model_flops
from found

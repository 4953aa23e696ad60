{%- set direction = "case
            when lower({0}) in ('min', 'minimize', 'minimise', 'lower', 'down', 'decrease', 'below') then 'min'
            when lower({0}) in ('max', 'maximize', 'maximise', 'higher', 'up', 'increase', 'above') then 'max'
        end" %}

with purchases as (
    select training_run_id, {{ in_one_text('purchase_option') }} as purchase
    from (select distinct training_run_id, purchase_option from {{ ref('fct_purchase_costs') }}) as options
    group by training_run_id
),

-- every launch: also those that failed, were stopped, missed their target or still go on, which a side paid for as well
launches as (
    select
        runs.training_run_id,
        runs.workload_key,
        runs.pair_key,
        runs.provider_name,
        runs.accelerator_family,
        runs.is_multi_accelerator,
        coalesce(runs.accelerator_type, 'unknown') as accelerator_type,
        coalesce(runs.region_id, 'unknown') as region_id,
        coalesce(runs.team, 'unknown') as team,
        coalesce(nullif(concat_ws(
            ', ',
            runs.framework || coalesce(' ' || runs.framework_version, ''),
            runs.sdk_name || coalesce(' ' || runs.sdk_version, '')
        ), ''), 'unknown') as software,
        coalesce(purchases.purchase, 'unknown') as purchase,
        coalesce(names.same_as, runs.model_name) as model_name,
        runs.started_at,
        runs.ended_at,
        runs.state,
        runs.is_target_reached,
        plans.planned_promise,
        lower(plans.planned_target_metric) as planned_target_metric,
        {{ direction.format('plans.planned_target_direction') }} as planned_target_direction,
        plans.planned_target_value,
        plans.planned_tokens,
        lower(runs.target_metric) as stated_metric,
        {{ direction.format('runs.target_direction') }} as stated_direction,
        cast({{ double_to_decimal('runs.target_value', 9) }} as decimal(38, 9)) as stated_value,
        cast({{ double_to_decimal('runs.final_value', 9) }} as decimal(38, 9)) as final_value,
        case when runs.useful_tokens > 0 then runs.useful_tokens end as useful_tokens,
        case when runs.tokens > 0 then runs.tokens end as tokens,
        case when runs.model_flops > 0 then runs.model_flops end as model_flops
    from {{ ref('dim_training_runs') }} as runs
    left join {{ ref('dim_model_names') }} as names on runs.model_name = names.model_name
    left join {{ ref('dim_comparison_registrations') }} as plans
        on runs.workload_key = plans.workload_key and runs.pair_key = plans.pair_key
    left join purchases on runs.training_run_id = purchases.training_run_id
    where runs.workload_key is not null
),

-- what the record does not state of the target, the plan may; which of the two promises it is the plan decides, else whether
-- there is a target
promised as (
    select
        *,
        coalesce(stated_metric, planned_target_metric) as target_metric,
        coalesce(stated_direction, planned_target_direction) as target_direction,
        coalesce(stated_value, planned_target_value) as target_value,
        coalesce(
            planned_promise, case when coalesce(stated_value, planned_target_value) is null then 'fixed_work' else 'to_target' end
        ) as promise
    from launches
)

-- a run that succeeded and is not known to have missed its target reached it
select
    *,
    state = 'succeeded' and ended_at is not null and (
        promise = 'fixed_work'
        or coalesce(
            is_target_reached,
            case target_direction when 'min' then final_value <= target_value when 'max' then final_value >= target_value end,
            true
        )
    ) as is_reached
from promised

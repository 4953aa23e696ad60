with records as (
    select
        training_run_id,
        bool_or(is_ambiguous) as is_ambiguous,
        min_by(recorded_id, precedence) as recorded_id
        {%- for field in run_fields() %},
        min_by({{ field }}, precedence) filter (where {{ field }} is not null) as {{ field }}
        {%- endfor %}
    from {{ ref('int_run_records') }}
    group by all
),

ranked_attempts as (
    select
        *,
        row_number() over (
            partition by training_run_id
            order by started_at desc nulls last, row_number desc, attempt_id desc, state desc, ended_at desc nulls last
        ) as recency
    from {{ ref('int_run_attempts') }}
),

attempt_facts as (
    select
        training_run_id,
        count(*) as attempt_count,
        min(started_at) as started_at,
        -- a run that still goes on has no end
        case when count(*) = count(ended_at) then max(ended_at) end as ended_at,
        max(case when recency = 1 then state end) as state
    from ranked_attempts
    group by all
),

known_ends as (
    select training_run_id, bool_and(ended_at < timestamp '9999-01-01 00:00:00') as is_end_known
    from {{ ref('int_run_holdings') }}
    group by all
),

billed_places as (
    select
        training_run_id,
        provider_name,
        region_id,
        sub_account_id,
        cast(sum(effective_cost) as decimal(38, 12)) as effective_cost
    from {{ ref('fct_run_cell_costs') }}
    where cost_component = 'accelerator'
    group by all
),

billed_any as (
    select training_run_id, min(provider_name) as provider_name
    from {{ ref('fct_run_cell_costs') }}
    group by all
),

main_places as (
    select
        training_run_id,
        -- where it cost most; ties to the lower name
        min_by(region_id, lpad(cast(place_rank as string), 6, '0')) as region_id,
        min_by(sub_account_id, lpad(cast(place_rank as string), 6, '0')) as sub_account_id,
        count(distinct region_id) > 1 as is_multi_region,
        count(distinct sub_account_id) > 1 as is_multi_account
    from (
        select
            *,
            row_number() over (partition by training_run_id order by effective_cost desc, region_id, sub_account_id) as place_rank
        from billed_places
    ) as ranked
    group by all
),

billed_types as (
    select
        training_run_id,
        min(first_type) as accelerator_type,
        min(first_type) <> max(last_type) as is_multi_accelerator,
        max(accelerator_family) as accelerator_family
    from {{ ref('int_run_bills') }}
    group by all
),

run_ids as (
    select training_run_id from records
    union
    select training_run_id from billed_any
)

select
    training_run_id,
    coalesce(records.recorded_id, training_run_id) as recorded_id,
    coalesce(records.provider_name, billed_any.provider_name, held_types.provider_name, 'AWS') as provider_name,
    coalesce(
        catalogue.accelerator_family,
        billed_types.accelerator_family,
        {{ family_of_type('coalesce(held_types.accelerator_type, billed_types.accelerator_type)') }},
        'none'
    ) as accelerator_family,
    coalesce(held_types.accelerator_type, billed_types.accelerator_type) as accelerator_type,
    coalesce(held_types.is_multi_accelerator, billed_types.is_multi_accelerator, false) as is_multi_accelerator,
    main_places.region_id,
    coalesce(main_places.is_multi_region, false) as is_multi_region,
    main_places.sub_account_id,
    coalesce(main_places.is_multi_account, false) as is_multi_account,
    records.team,
    records.model_name,
    records.framework,
    records.framework_version,
    records.sdk_name,
    records.sdk_version,
    records.driver_version,
    records.runtime_version,
    records.cluster_name,
    records.slice_name,
    records.workload_key,
    records.pair_key,
    attempt_facts.started_at,
    attempt_facts.ended_at,
    coalesce(known_ends.is_end_known, attempt_facts.ended_at is not null) as is_end_known,
    -- an ambiguous id has a row so that it can be seen, and no state anyone could rely on
    case when records.is_ambiguous then 'unknown' else coalesce(attempt_facts.state, 'unknown') end as state,
    cast(coalesce(attempt_facts.attempt_count, 0) as bigint) as attempt_count,
    held_types.chip_count,
    coalesce(records.tokens, progress.logged_tokens) as tokens,
    coalesce(records.useful_tokens, progress.logged_useful_tokens) as useful_tokens,
    coalesce(records.steps, progress.logged_steps) as steps,
    coalesce(records.model_flops, progress.logged_model_flops) as model_flops,
    records.target_metric,
    records.target_direction,
    records.target_value,
    records.final_value,
    case
        when records.target_value is null or records.final_value is null then null
        when records.target_direction in ('min', 'minimize', 'minimise', 'lower', 'down', 'decrease', 'below')
            then records.final_value <= records.target_value
        when records.target_direction in ('max', 'maximize', 'maximise', 'higher', 'up', 'increase', 'above')
            then records.final_value >= records.target_value
    end as is_target_reached,
    records.parent_run_id,
    held_types.chip_equivalents
from run_ids
left join records using (training_run_id)
left join {{ ref('int_run_progress') }} as progress using (training_run_id)
left join attempt_facts using (training_run_id)
left join {{ ref('int_run_chips') }} as held_types using (training_run_id)
left join known_ends using (training_run_id)
left join main_places using (training_run_id)
left join billed_any using (training_run_id)
left join billed_types using (training_run_id)
left join {{ ref('accelerator_types') }} as catalogue
    on coalesce(held_types.accelerator_type, billed_types.accelerator_type) = catalogue.accelerator_type

{%- set fields = [
    'provider_name', 'workload_key', 'pair_key', 'model_name', 'framework', 'team', 'tokens', 'useful_tokens', 'steps', 'model_flops',
    'target_metric', 'target_direction', 'target_value', 'final_value',
] %}
with records as (
    select
        training_run_id,
        bool_or(is_ambiguous) as is_ambiguous,
        min_by(recorded_id, precedence) as recorded_id
        {%- for field in fields %},
        min_by({{ field }}, precedence) filter (where {{ field }} is not null) as {{ field }}
        {%- endfor %}
    from {{ ref('int_run_records') }}
    group by training_run_id
),

record_files as (
    select training_run_id, record_system, record_run_id, source_name, source_object, precedence
    from {{ ref('int_run_records') }}
),

-- one row per attempt, also where its record was delivered twice
recorded_attempts as (
    select
        record_files.training_run_id,
        substr(record_files.precedence, 1, 1) as record_rank,
        attempts.attempt_id,
        attempts.state,
        attempts.started_at,
        attempts.ended_at,
        max(attempts.row_number) as row_number
    from {{ ref('stg_training_runs__attempts') }} as attempts
    -- each file its own attempts: a run may be recorded in several
    inner join record_files using (record_system, record_run_id, source_name, source_object)
    group by
        record_files.training_run_id,
        substr(record_files.precedence, 1, 1),
        attempts.attempt_id,
        attempts.state,
        attempts.started_at,
        attempts.ended_at
),

ranked_attempts as (
    select
        *,
        dense_rank() over (partition by training_run_id order by record_rank) as system_rank,
        row_number() over (
            partition by training_run_id
            order by
                record_rank, started_at desc nulls last, row_number desc, attempt_id desc, state desc, ended_at desc nulls last
        ) as recency
    from recorded_attempts
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
    where system_rank = 1
    group by training_run_id
),

holdings as (
    select * from {{ ref('int_run_holdings') }}
),

held_types as (
    select
        holdings.training_run_id,
        min(holdings.accelerator_type) as accelerator_type,
        count(distinct holdings.accelerator_type) > 1 as is_multi_accelerator,
        count(*) = count(holdings.held_chips) as is_chips_known,
        max(catalogue.provider_name) as provider_name
    from holdings
    left join {{ ref('accelerator_types') }} as catalogue using (accelerator_type)
    where holdings.accelerator_type is not null
    group by holdings.training_run_id
),

chip_events as (
    select training_run_id, started_at as happened_at, held_chips as chips from holdings
    union all
    select training_run_id, ended_at as happened_at, -held_chips as chips from holdings
),

chip_levels as (
    select
        training_run_id,
        -- what ends at an instant is given back before what begins there
        sum(chips)
            over (partition by training_run_id order by happened_at, chips rows between unbounded preceding and current row)
            as chips_held
    from chip_events
),

chip_counts as (
    select training_run_id, max(chips_held) as chip_count
    from chip_levels
    group by training_run_id
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
    group by training_run_id, provider_name, region_id, sub_account_id
),

billed_any as (
    select training_run_id, min(provider_name) as provider_name
    from {{ ref('fct_run_cell_costs') }}
    group by training_run_id
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
    group by training_run_id
),

billed_types as (
    select distinct
        attributions.training_run_id,
        charges.instance_type
    from {{ ref('int_line_attributions') }} as attributions
    inner join {{ ref('int_charges') }} as charges using (line_id)
    where charges.is_accelerator_type and charges.instance_type <> '' and attributions.training_run_id is not null
),

billed_type_facts as (
    select training_run_id, min(instance_type) as accelerator_type, count(*) > 1 as is_multi_accelerator
    from billed_types
    group by training_run_id
),

-- what the text of a Google SKU tells: generations and GPUs that the catalogue does not list are accelerators all the same
billed_families as (
    select
        attributions.training_run_id,
        max(case when lines.instance_type <> '' or lines.is_unknown_tpu then 'tpu' else 'gpu' end) as accelerator_family
    from {{ ref('int_line_attributions') }} as attributions
    inner join {{ ref('int_gcp_lines') }} as lines using (line_id)
    where lines.is_accelerator_type and attributions.training_run_id is not null
    group by attributions.training_run_id
),

run_ids as (
    select training_run_id from records
    union
    select training_run_id from billed_any
),

runs as (
    select
        run_ids.training_run_id,
        coalesce(records.recorded_id, run_ids.training_run_id) as recorded_id,
        coalesce(records.is_ambiguous, false) as is_ambiguous,
        coalesce(records.provider_name, billed_any.provider_name, held_types.provider_name, 'AWS') as provider_name,
        coalesce(held_types.accelerator_type, billed_type_facts.accelerator_type) as accelerator_type,
        billed_families.accelerator_family as billed_family,
        coalesce(held_types.is_multi_accelerator, billed_type_facts.is_multi_accelerator, false) as is_multi_accelerator,
        main_places.region_id,
        coalesce(main_places.is_multi_region, false) as is_multi_region,
        main_places.sub_account_id,
        coalesce(main_places.is_multi_account, false) as is_multi_account,
        attempt_facts.started_at,
        attempt_facts.ended_at,
        attempt_facts.state,
        coalesce(attempt_facts.attempt_count, 0) as attempt_count,
        case when held_types.is_chips_known then chip_counts.chip_count end as chip_count
        {%- for field in fields if field != 'provider_name' %},
        records.{{ field }}
        {%- endfor %}
    from run_ids
    left join records using (training_run_id)
    left join attempt_facts using (training_run_id)
    left join held_types using (training_run_id)
    left join chip_counts using (training_run_id)
    left join main_places using (training_run_id)
    left join billed_any using (training_run_id)
    left join billed_families using (training_run_id)
    left join billed_type_facts using (training_run_id)
)

select
    runs.training_run_id,
    runs.recorded_id,
    runs.provider_name,
    coalesce(catalogue.accelerator_family, runs.billed_family, 'none') as accelerator_family,
    runs.accelerator_type,
    runs.is_multi_accelerator,
    runs.region_id,
    runs.is_multi_region,
    runs.sub_account_id,
    runs.is_multi_account,
    runs.team,
    runs.model_name,
    runs.framework,
    runs.workload_key,
    runs.pair_key,
    runs.started_at,
    runs.ended_at,
    -- an ambiguous id has a row so that it can be seen, and no state anyone could rely on
    case when runs.is_ambiguous then 'unknown' else coalesce(runs.state, 'unknown') end as state,
    cast(runs.attempt_count as bigint) as attempt_count,
    cast(runs.chip_count as bigint) as chip_count,
    runs.tokens,
    runs.useful_tokens,
    runs.steps,
    runs.model_flops,
    runs.target_metric,
    runs.target_direction,
    runs.target_value,
    runs.final_value,
    case
        when runs.target_value is null or runs.final_value is null then null
        when
            runs.target_direction in ('min', 'minimize', 'minimise', 'lower', 'down', 'decrease', 'below')
            then runs.final_value <= runs.target_value
        when
            runs.target_direction in ('max', 'maximize', 'maximise', 'higher', 'up', 'increase', 'above')
            then runs.final_value >= runs.target_value
    end as is_target_reached
from runs
left join {{ ref('accelerator_types') }} as catalogue using (accelerator_type)

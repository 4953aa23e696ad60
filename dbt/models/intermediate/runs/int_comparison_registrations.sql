{{ config(meta={'empty_without': ['dim_training_runs where pair_key is not null']}) }}
-- which pairs were named before their costs could be seen. The time of a file is its store's: what this home's clock knew of it
-- would void every pair that a first load brings
with starts as (
    select
        workload_key,
        pair_key,
        min(case when accelerator_family = 'trainium' then started_at end) as trainium_start,
        min(case when accelerator_family = 'tpu' then started_at end) as tpu_start
    from {{ ref('dim_training_runs') }}
    where workload_key is not null and pair_key is not null
    group by all
),

pairs as (
    select
        workload_key,
        pair_key,
        case when tpu_start < trainium_start then tpu_start else coalesce(trainium_start, tpu_start) end as first_start,
        -- of the side that starts later; while one has not started that of the other, which is earlier: what is in time for it
        -- stays in time
        case when tpu_start > trainium_start then tpu_start else coalesce(trainium_start, tpu_start) end
        + interval 1 hour as in_time_until
    from starts
),

plans as (
    select
        *,
        row_number() over (order by published_at, evidence_of_time desc, source_name, source_object, row_number) as plan_rank
    from {{ ref('stg_user_inputs__comparison_plans') }}
),

-- a plan is of a number of pairs: those that start first, both of their sides on its first day or later
named as (
    select
        plans.plan_rank,
        pairs.workload_key,
        pairs.pair_key,
        row_number() over (partition by plans.plan_rank order by pairs.first_start, pairs.pair_key) as place
    from plans
    inner join pairs
        on
            plans.workload_key = pairs.workload_key
            and case
                when plans.is_pattern then left(pairs.pair_key, length(plans.pair_key_start)) = plans.pair_key_start
                else pairs.pair_key = plans.pair_key_pattern
            end
            and pairs.first_start >= cast(plans.first_day as timestamp)
),

files as (
    select
        plans.workload_key,
        named.pair_key,
        'plan' as registered_by,
        plans.published_at,
        plans.evidence_of_time
    from plans
    inner join named using (plan_rank)
    where named.place <= plans.pair_count

    union all

    select
        workload_key,
        pair_key,
        'recorder' as registered_by,
        published_at,
        evidence_of_time
    from {{ ref('stg_training_runs__registrations') }}
),

in_time as (
    select
        files.*,
        row_number() over (
            partition by files.workload_key, files.pair_key
            order by files.published_at, files.evidence_of_time desc, files.registered_by
        ) as place
    from files
    inner join pairs using (workload_key, pair_key)
    where files.published_at <= pairs.in_time_until
),

-- the promise that a plan states once for its workload: of the plans that name the pair the first, else of the workload's. One
-- that came too late promises nothing for a pair that is registered otherwise
stated as (
    select
        pairs.workload_key,
        pairs.pair_key,
        plans.promise,
        plans.target_metric,
        plans.target_direction,
        plans.target_value,
        plans.tokens,
        plans.published_at <= pairs.in_time_until as is_in_time,
        row_number() over (
            partition by pairs.workload_key, pairs.pair_key
            order by
                case when plans.published_at <= pairs.in_time_until then 1 else 2 end,
                case when named.place <= plans.pair_count then 1 else 2 end,
                plans.plan_rank
        ) as place
    from pairs
    inner join plans using (workload_key)
    left join named
        on plans.plan_rank = named.plan_rank and pairs.workload_key = named.workload_key and pairs.pair_key = named.pair_key
)

select
    pairs.workload_key,
    pairs.pair_key,
    coalesce(in_time.registered_by, 'none') as registered_by,
    in_time.published_at as registered_at,
    in_time.evidence_of_time,
    in_time.registered_by is not null as is_registered,
    stated.promise as planned_promise,
    stated.target_metric as planned_target_metric,
    stated.target_direction as planned_target_direction,
    stated.target_value as planned_target_value,
    stated.tokens as planned_tokens
from pairs
left join in_time
    on pairs.workload_key = in_time.workload_key and pairs.pair_key = in_time.pair_key and in_time.place = 1
left join stated
    on
        pairs.workload_key = stated.workload_key
        and pairs.pair_key = stated.pair_key
        and stated.place = 1
        and (stated.is_in_time or in_time.registered_by is null)

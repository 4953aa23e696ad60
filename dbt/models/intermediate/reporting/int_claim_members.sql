{{ config(meta={'empty_without': ['int_comparison_launches where pair_key is not null']}) }}
{%- set columns = [
    'training_run_id', 'workload_key', 'pair_key', 'provider_name', 'accelerator_type', 'region_id', 'team', 'software', 'purchase',
    'model_name', 'ended_at', 'promise', 'planned_tokens', 'useful_tokens', 'tokens', 'is_reached', 'target', 'is_other_than_planned',
    'exaflop',
] %}
with launches as (
    select
        launches.*,
        launches.target_metric || ' ' || coalesce(launches.target_direction, '') || ' ' || cast(launches.target_value as string)
            as target,
        coalesce(launches.target_metric <> launches.planned_target_metric, false)
        or coalesce(launches.target_direction <> launches.planned_target_direction, false)
        or coalesce(launches.target_value <> launches.planned_target_value, false) as is_other_than_planned,
        cast(launches.model_flops / 1e18 as decimal(38, 9)) as exaflop
    from {{ ref('int_comparison_launches') }} as launches
    cross join {{ ref('int_asked_window') }} as asked
    where
        launches.pair_key is not null and launches.accelerator_type <> 'unknown' and not launches.is_multi_accelerator
        and launches.started_at < asked.window_end
),

-- a claim names a family (trainium), that of one cloud (AWS/gpu), a type (v5e), an EC2 family (p4d) or a generation (p5)
run_groups as (
    select training_run_id, accelerator_family as type_group from launches

    union

    select training_run_id, provider_name || '/' || accelerator_family as type_group from launches

    union

    select training_run_id, accelerator_type as type_group from launches

    union

    select training_run_id, regexp_extract(accelerator_type, '^([^.]+)', 1) as type_group from launches

    union

    select training_run_id, regexp_extract(accelerator_type, '^([a-z]+[0-9]+)', 1) as type_group from launches
),

roles as (
    {%- for role in ['side', 'baseline'] %}
    select claim_id, test, '{{ role }}' as role, {{ role }} as type_group from {{ ref('dim_vendor_claims') }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

members as (
    select
        roles.claim_id,
        roles.test,
        roles.role
        {%- for column in columns %},
        launches.{{ column }}
        {%- endfor %}
    from roles
    inner join run_groups on roles.type_group = run_groups.type_group
    inner join launches on run_groups.training_run_id = launches.training_run_id
),

whole as (
    select claim_id, workload_key, pair_key from members
    group by claim_id, workload_key, pair_key
    having count(distinct role) = 2
)

select members.* from members
inner join whole
    on members.claim_id = whole.claim_id and members.workload_key = whole.workload_key and members.pair_key = whole.pair_key

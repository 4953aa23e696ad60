{{ config(meta={'empty_without': ['int_comparison_sides']}) }}

-- which promise: what a plan states, else to a target where any launch has one
with launches as (
    select
        *,
        max(case when promise = 'to_target' then 1 else 0 end) over (partition by workload_key, pair_key) = 1 as is_to_target
    from {{ ref('int_compared_runs') }}
    where pair_key is not null
),

stated as (
    select
        workload_key,
        pair_key,
        bool_or(is_to_target) as is_to_target,
        count(distinct accelerator_family) as side_count,
        -- the model: of each side, and of each launch that reached
        count(distinct model_name) as model_count,
        count(distinct case when model_name is not null then accelerator_family end) as modelled_sides,
        count(case when is_reached and model_name is null then 1 end) as unnamed,
        -- the target
        count(distinct target_value) as value_count,
        count(distinct target_metric) as metric_count,
        count(distinct target_direction) as direction_count,
        count(distinct case when target_value is not null then accelerator_family end) as targeted_sides,
        count(case when is_reached and target_value is null then 1 end) as untargeted,
        count(case when target_value is not null and target_metric is null then 1 end) as unmeasured,
        count(case when target_value <> planned_target_value then 1 end) as other_values,
        count(case when target_metric <> planned_target_metric then 1 end) as other_metrics,
        count(case when target_direction <> planned_target_direction then 1 end) as other_directions,
        -- the work: useful tokens where each launch that did it states them, else tokens, else those of the plan
        count(case when is_reached then 1 end) as reached,
        count(case when is_reached then useful_tokens end) as stated_useful_tokens,
        count(case when is_reached then tokens end) as stated_tokens,
        cast(max(planned_tokens) as decimal(19, 0)) as planned_tokens,
        {%- for name, tokens in [
            ('useful_tokens', 'useful_tokens'), ('tokens', 'tokens'), ('any_tokens', 'coalesce(useful_tokens, tokens)')
        ] %}
        cast(min(case when is_reached then {{ tokens }} end) as decimal(19, 0)) as least_{{ name }},
        cast(max(case when is_reached then {{ tokens }} end) as decimal(19, 0)) as most_{{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from launches
    group by workload_key, pair_key
),

work as (
    select
        *,
        case
            when reached > 0 and reached = stated_useful_tokens then 'useful_tokens'
            when reached > 0 and reached = stated_tokens then 'tokens'
            when planned_tokens is not null then 'planned_tokens'
        end as work_field
        {%- for end in ['least', 'most'] %},
        case
            when reached > 0 and reached = stated_useful_tokens then {{ end }}_useful_tokens
            when reached > 0 and reached = stated_tokens then {{ end }}_tokens
            else {{ end }}_any_tokens
        end as {{ end }}_work
        {%- endfor %}
    from stated
),

judged as (
    select
        *,
        case
            when model_count > 1 then 'model_name'
            when is_to_target and (untargeted > 0 or (targeted_sides > 0 and targeted_sides < side_count)) then 'target_value'
            when is_to_target and (metric_count > 1 or other_metrics > 0) then 'target_metric'
            when is_to_target and (direction_count > 1 or other_directions > 0) then 'target_direction'
            when is_to_target and (value_count > 1 or other_values > 0) then 'target_value'
            -- within 5 %: the most is at most 1.05 times the least, that of the plan among them
            when
                not is_to_target
                and greatest(most_work, planned_tokens) * cast(100 as decimal(3, 0))
                > least(least_work, planned_tokens) * cast(105 as decimal(3, 0))
                then case work_field when 'useful_tokens' then 'useful_tokens' else 'tokens' end
        end as promise_broken_field,
        unnamed > 0 or modelled_sides < side_count or case
            when is_to_target then targeted_sides < side_count or unmeasured > 0
            else work_field is null
        end as is_unknown
    from work
),

-- a pair counts where its second side first reached the target or ended
times as (
    select
        workload_key,
        pair_key,
        count(*) as side_count,
        bool_or(is_running) as is_running,
        case when count(*) = 2 and count(settled_at) = 2 then max(settled_at) end as settled_at
    from {{ ref('int_comparison_sides') }}
    group by workload_key, pair_key
),

quarters as (
    select
        *,
        cast(date_trunc('quarter', settled_at) as date) as quarter_start,
        cast(date_trunc('quarter', settled_at) + interval 1 month + interval 15 day as date) as half_start,
        cast(date_trunc('quarter', settled_at) + interval 3 month as date) as quarter_end
    from times
)

select
    judged.workload_key,
    judged.pair_key,
    case
        when judged.promise_broken_field is not null then 'broken'
        when judged.is_unknown then 'unknown'
        when judged.is_to_target then 'to_target'
        else 'fixed_work'
    end as promise,
    judged.promise_broken_field,
    -- the primary figure of the pair: that of its promise, also where it is not kept
    case when judged.is_to_target then 'cost_per_run_to_target' else 'cost_per_run_of_fixed_work' end as primary_kpi,
    coalesce(registrations.registered_by, 'none') as registered_by,
    registrations.evidence_of_time,
    coalesce(registrations.is_registered, false) as is_registered,
    quarters.side_count,
    quarters.settled_at,
    case
        when quarters.settled_at >= cast(quarters.half_start as timestamp) then quarters.half_start
        else quarters.quarter_start
    end as cluster_start,
    case
        when quarters.settled_at >= cast(quarters.half_start as timestamp) then quarters.quarter_end
        else quarters.half_start
    end as cluster_end,
    quarters.quarter_end as closed_on,
    quarters.is_running
from judged
inner join quarters on judged.workload_key = quarters.workload_key and judged.pair_key = quarters.pair_key
left join {{ ref('dim_comparison_registrations') }} as registrations
    on judged.workload_key = registrations.workload_key and judged.pair_key = registrations.pair_key

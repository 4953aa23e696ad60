{%- set row = 'quarter_end, workload_key, kpi, factor_view' %}

-- the row of the plan's table with the greatest effect not above that of the clusters
with plans as (
    select
        decisions.quarter_end,
        decisions.workload_key,
        decisions.kpi,
        decisions.factor_view,
        plan.clusters_needed,
        cast(plan.power as double) as plan_power,
        row_number() over (
            partition by decisions.quarter_end, decisions.workload_key, decisions.kpi, decisions.factor_view
            order by plan.effect_over_spread desc
        ) as place
    from {{ ref('int_comparison_decisions') }} as decisions
    inner join {{ ref('dim_comparison_plan_power') }} as plan
        on plan.power = 0.8 and abs(decisions.mean) >= cast(plan.effect_over_spread as double) * decisions.spread
    where decisions.cluster_count >= 3
)

select {{ row }}, clusters_needed, plan_power from plans
where place = 1

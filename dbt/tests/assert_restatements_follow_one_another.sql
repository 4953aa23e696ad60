-- Each step of a figure begins where the one before ended, and its delta is what lies between: so the deltas add up.
{{ config(meta={'dagster': {'ref': {'name': 'fct_restatements'}}}) }}
with recorded as (
    select
        report_id,
        datapoint_id,
        cause,
        cast(before as string) as before,
        cast(after as string) as after
    from {{ ref('fct_restatements') }}
    union all
    select
        report_id,
        datapoint_id,
        cause,
        before,
        after
    from {{ ref('fct_restated_texts') }}
),

steps as (
    select
        *,
        case cause
            when 'code' then 1
            when 'bill' then 2
            when 'run_record' then 3
            when 'late_log' then 4
            when 'provider_model_version' then 5
            else 6
        end as step
    from recorded
)

select
    later.report_id,
    later.datapoint_id,
    later.cause,
    earlier.after,
    later.before
from steps as later
left join steps as earlier
    on
        later.report_id = earlier.report_id
        and later.datapoint_id = earlier.datapoint_id
        and later.step = earlier.step + 1
where later.step > 1 and (earlier.cause is null or earlier.after is distinct from later.before)
union all
select
    report_id,
    datapoint_id,
    cause,
    cast(after as string) as after,
    cast(before as string) as before
from {{ ref('fct_restatements') }}
where delta is distinct from {{ exact_sum(['after', '-before'], 12) }}

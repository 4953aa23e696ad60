-- Each step of a figure begins where the one before ended, and its delta is what lies between: so the deltas add up.
{{ config(meta={'dagster': {'ref': {'name': 'fct_restatements'}}}) }}
with steps as (
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
    from {{ ref('fct_restatements') }}
)

select
    later.report_id,
    later.datapoint_id,
    later.cause,
    earlier.after,
    later.before,
    later.delta
from steps as later
left join steps as earlier
    on
        later.report_id = earlier.report_id
        and later.datapoint_id = earlier.datapoint_id
        and later.step = earlier.step + 1
where
    (later.step > 1 and (earlier.cause is null or earlier.after is distinct from later.before))
    or later.delta is distinct from {{ exact_sum(['later.after', '-later.before'], 12) }}

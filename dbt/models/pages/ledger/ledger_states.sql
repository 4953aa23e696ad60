-- what is recorded of runs beside months: how many there are, and a sum of digests that moves with any of their rows
with active as (
    select distinct training_run_id, usage_month from {{ ref('fct_training_run_costs') }}
),

lasting as (
    select training_run_id, max(usage_month) as last_month
    from active
    group by training_run_id
),

records as (
    select own.training_run_id, true as is_run, cast(hash(own) as hugeint) as state
    from {{ ref('dim_training_runs') }} as own
    union all
    select own.training_run_id, false as is_run, cast(hash(own) as hugeint) as state
    from {{ ref('fct_run_attempts') }} as own
    union all
    select own.training_run_id, false as is_run, 3 * cast(hash(own) as hugeint) as state
    from {{ ref('fct_run_conflicts') }} as own
),

runs as (
    select training_run_id, sum(state) as state
    from records
    group by training_run_id
    having bool_or(is_run)
)

select active.usage_month, lasting.last_month, count(*) as run_count, cast(sum(runs.state) as varchar) as state
from runs
left join lasting using (training_run_id)
left join active using (training_run_id)
group by all

{{ config(materialized='by_month') }}

with months as (
    select
        usage_month,
        cast(usage_month as timestamp) as month_from,
        cast(usage_month as timestamp) + interval 1 month as month_to
    from ({{ months_to_build() }}) as months_to_build
),

recorded_times as (
    select record_system, record_run_id, started_at, ended_at, false as is_of_machine
    from {{ ref('stg_training_runs__attempts') }}

    union all

    select record_system, record_run_id, started_at, ended_at, true as is_of_machine
    from {{ ref('stg_training_runs__nodes') }}
)

-- an end that no record states reaches no later month: what shows a run there is evidence of that month
select months.usage_month, records.training_run_id, bool_or(recorded_times.is_of_machine) as names_machine
from recorded_times
inner join {{ ref('int_run_records') }} as records using (record_system, record_run_id)
inner join months
    on
        recorded_times.started_at < months.month_to
        and (recorded_times.ended_at > months.month_from or recorded_times.started_at >= months.month_from)
group by months.usage_month, records.training_run_id

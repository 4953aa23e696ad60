{%- set pods = ["int_gcp_lines where pod_allocation = 'pod'", 'int_aws_pod_charges'] %}
{{ config(materialized='by_month', meta={'empty_without': pods}) }}
{%- set never = "timestamp '9999-01-01 00:00:00'" %}

with charges as (
    select * from {{ ref('int_charges') }}
    where {{ in_build_months() }} and pod_allocation = 'pod' and (is_usage or is_discount) and fixed_reason is null
),

-- a pod is known by its workload, by the JobSet that its workload is one of, and by itself
workloads_of_charges as (
    {%- for id in ['workload_id', 'jobset_id', 'pod_id'] %}
    select
        line_id, usage_month, charge_period_start, charge_period_end, {{ id }} as workload_id,
        {{ 'true' if id == 'pod_id' else 'false' }} as is_pod_name
    from charges
    where {{ id }} is not null
    {{- '\n\n    union all\n' if not loop.last }}
    {%- endfor %}
),

workloads as (
    select distinct usage_month, workload_id, is_pod_name from workloads_of_charges
),

spellings as (
    {{- workload_spellings('workloads', ['is_pod_name']) }}
),

-- which of the workloads of a short name a record means is not known where two were billed
fitting as (
    select usage_month, alias_id, min(workload_id) <> max(workload_id) as is_of_several
    from spellings
    group by all
),

recorded_times as (
    select training_run_id, started_at, ended_at from {{ ref('int_run_holdings') }}

    union all

    select records.training_run_id, attempts.started_at, coalesce(attempts.ended_at, {{ never }}) as ended_at
    from {{ ref('stg_training_runs__attempts') }} as attempts
    inner join {{ ref('int_run_records') }} as records using (record_system, record_run_id)
    where attempts.started_at is not null
),

run_times as (
    select training_run_id, min(started_at) as started_at, max(ended_at) as ended_at
    from recorded_times
    group by all
),

named_workloads as (
    select distinct
        usage_month,
        spellings.workload_id,
        spellings.is_pod_name,
        records.training_run_id,
        fitting.is_of_several,
        run_times.started_at,
        run_times.ended_at
    from spellings
    inner join fitting using (usage_month, alias_id)
    inner join {{ ref('stg_training_runs__aliases') }} as aliases using (alias_id)
    inner join {{ ref('int_run_records') }} as records using (record_system, record_run_id)
    left join run_times using (training_run_id)
    where {{ is_alias_of_workload('aliases', 'spellings.is_pod_name') }} and not records.is_ambiguous
)

select
    charges.line_id,
    usage_month,
    min(named.training_run_id) as training_run_id,
    bool_or(named.is_of_several) or min(named.training_run_id) <> max(named.training_run_id) as is_unclear
from workloads_of_charges as charges
inner join named_workloads as named using (usage_month, workload_id, is_pod_name)
where
    -- names are used again: a record that shows when it ran means the workload of that time
    named.started_at is null
    or (charges.charge_period_start < named.ended_at and charges.charge_period_end > named.started_at)
group by charges.line_id, usage_month

{{ config(materialized='by_month') }}

with charges as (
    select * from {{ ref('int_charges') }}
    where (is_usage or is_discount) and fixed_reason is null
),

runs as (
    select training_run_id, bool_or(is_ambiguous) as is_ambiguous
    from {{ ref('int_run_records') }}
    group by training_run_id
),

-- SageMaker bills a job under its ARN, Vertex AI under its full name
recorded_jobs as (
    select records.training_run_id, aliases.alias_id as job_id
    from {{ ref('stg_training_runs__aliases') }} as aliases
    inner join {{ ref('int_run_records') }} as records using (record_system, record_run_id)
    where aliases.alias_system in ('sagemaker', 'vertex') and not records.is_ambiguous
),

unique_jobs as (
    select job_id, min(training_run_id) as training_run_id
    from recorded_jobs
    group by job_id
),

holders as (
    select usage_month, line_id, count(*) as holder_count, min(part_id) as only_holder
    from {{ ref('int_line_overlaps') }}
    where part_id <> '~residual'
    group by usage_month, line_id
),

charge_evidence as (
    select
        charges.line_id,
        charges.usage_month,
        charges.charge_period_start,
        charges.charge_period_end,
        unique_jobs.training_run_id as job_run_id,
        {{ normalised_run_id('charges.run_tag') }} as tag_run_id,
        coalesce(runs.is_ambiguous, false) as is_tag_ambiguous,
        coalesce(holders.holder_count, 0) as holder_count,
        holders.only_holder
    from charges
    left join unique_jobs using (job_id)
    left join runs on {{ normalised_run_id('charges.run_tag') }} = runs.training_run_id
    left join holders using (usage_month, line_id)
    where unique_jobs.training_run_id is not null or charges.run_tag is not null or holders.line_id is not null
),

weighed_evidence as (
    select
        *,
        tag_run_id is not null and holder_count > 0 and not (holder_count = 1 and only_holder = tag_run_id) as is_tag_contradicted
    from charge_evidence
)

select
    line_id,
    usage_month,
    case
        when job_run_id is not null then 'managed_job'
        when tag_run_id is not null and is_tag_ambiguous then null
        when tag_run_id is not null and not is_tag_contradicted then 'tag'
        else 'resource_time'
    end as attribution_rule,
    case
        when job_run_id is not null then job_run_id
        when tag_run_id is not null and not is_tag_ambiguous and not is_tag_contradicted then tag_run_id
    end as training_run_id,
    job_run_id is null and tag_run_id is not null and is_tag_ambiguous as is_ambiguous,
    case
        when job_run_id is not null then 'high'
        when tag_run_id is not null and not is_tag_contradicted then 'high'
        when charge_period_end > charge_period_start + interval 1 hour then 'low'
        else 'medium'
    end as attribution_confidence,
    job_run_id is null and is_tag_contradicted and not is_tag_ambiguous as is_conflict,
    tag_run_id
from weighed_evidence

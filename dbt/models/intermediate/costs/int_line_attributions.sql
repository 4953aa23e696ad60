{{ config(materialized='by_month') }}

with charges as (
    select *, {{ normalised_run_id('run_tag') }} as tag_run_id
    from {{ ref('int_charges') }}
    where (is_usage or is_discount) and fixed_reason is null
),

runs as (
    select training_run_id as tag_run_id, bool_or(is_ambiguous) as is_ambiguous
    from {{ ref('int_run_records') }}
    group by all
),

-- SageMaker bills a job under its ARN, Vertex AI under its full name
jobs as (
    select aliases.alias_id as job_id, min(records.training_run_id) as job_run_id
    from {{ ref('stg_training_runs__aliases') }} as aliases
    inner join {{ ref('int_run_records') }} as records using (record_system, record_run_id)
    where aliases.alias_system in ('sagemaker', 'vertex') and not records.is_ambiguous
    group by all
),

holders as (
    select usage_month, line_id, count(*) as holder_count, min(part_id) as only_holder
    from {{ ref('int_line_overlaps') }}
    where {{ in_build_months() }} and part_id <> '~residual'
    group by all
),

evidence as (
    select
        line_id,
        usage_month,
        charges.charge_period_start,
        charges.charge_period_end,
        jobs.job_run_id,
        tag_run_id,
        coalesce(runs.is_ambiguous, false) as is_tag_ambiguous,
        tag_run_id is not null
        and coalesce(holders.holder_count > 1 or holders.only_holder <> tag_run_id, false) as is_tag_contradicted
    from charges
    left join jobs using (job_id)
    left join runs using (tag_run_id)
    left join holders using (usage_month, line_id)
    where jobs.job_run_id is not null or charges.run_tag is not null or holders.line_id is not null
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
from evidence

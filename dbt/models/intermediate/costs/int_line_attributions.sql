{{ config(materialized='by_month') }}

-- other names of a run in the months of its records: the id of a record that was joined to it, and the number of its job
with recorded_runs as (
    select distinct
        recorded.usage_month,
        training_run_id,
        records.record_system,
        records.recorded_id,
        records.record_run_id,
        records.has_one_cluster,
        records.has_one_workload_cluster,
        records.is_numbered
    from {{ ref('int_recorded_months') }} as recorded
    inner join {{ ref('int_run_records') }} as records using (training_run_id)
    where not records.is_ambiguous and {{ in_build_months('recorded.usage_month') }}
),

other_names as (
    select
        usage_month,
        name,
        min(training_run_id) as named_run_id,
        bool_or(is_unclear) or min(training_run_id) <> max(training_run_id) as is_unclear
    from (
        select usage_month, record_run_id as name, training_run_id, false as is_unclear
        from recorded_runs
        union all
        select
            recorded_runs.usage_month,
            {{ normalised_run_id(replace_all('aliases.alias_id', '^.*/', '')) }} as name,
            recorded_runs.training_run_id,
            not case
                when aliases.alias_system = 'slurm' then recorded_runs.has_one_cluster else recorded_runs.has_one_workload_cluster
            end as is_unclear
        from recorded_runs
        inner join {{ ref('stg_training_runs__aliases') }} as aliases using (record_system, recorded_id)
        where
            aliases.alias_system = 'slurm'
            or (aliases.alias_system = 'kubernetes' and {{ is_own_workload('recorded_runs') }})
    ) as names
    group by all
),

named_charges as (
    select *, {{ normalised_run_id('run_tag') }} as written_run_id
    from {{ ref('int_charges') }}
    where
        (is_usage or is_discount)
        and fixed_reason is null
        -- what the cluster states that no pod asked for is no run's, whatever is written on the machine
        and pod_allocation not in ('unallocated', 'overhead')
),

-- a run's id goes before all other names
runs as (
    select training_run_id as written_run_id, bool_or(is_ambiguous) as is_ambiguous, bool_or(not is_numbered) as is_named
    from {{ ref('int_run_records') }}
    group by all
),

charges as (
    select
        named_charges.*,
        case
            when runs.written_run_id is null then coalesce(other_names.named_run_id, written_run_id)
            else written_run_id
        end as tag_run_id,
        coalesce(runs.is_ambiguous, false) or (coalesce(other_names.is_unclear, false) and not coalesce(runs.is_named, false))
            as is_tag_ambiguous
    from named_charges
    left join runs using (written_run_id)
    left join other_names
        on named_charges.usage_month = other_names.usage_month and named_charges.written_run_id = other_names.name
),

-- SageMaker bills a job under its ARN, Vertex AI under its full name; a pipeline's runs have an id of their own
jobs as (
    select
        aliases.alias_id as job_id,
        min(records.training_run_id) as job_run_id,
        min(records.training_run_id) <> max(records.training_run_id) as is_of_several
    from {{ ref('stg_training_runs__aliases') }} as aliases
    inner join {{ ref('int_run_records') }} as records using (record_system, record_run_id)
    where aliases.alias_system in ('sagemaker', 'vertex') and not records.is_ambiguous
    group by all
),

holders as (
    select usage_month, line_id, count(*) as holder_count, min(part_id) as only_holder, bool_or(is_of_cluster) as is_of_cluster
    from {{ ref('int_line_overlaps') }}
    where {{ in_build_months() }} and part_id <> '~residual'
    group by all
),

evidence as (
    select
        charges.line_id,
        charges.usage_month,
        charges.charge_period_start,
        charges.charge_period_end,
        coalesce(jobs.job_run_id, case when not pipelines.is_of_several then pipelines.job_run_id end) as job_run_id,
        case when not claims.is_unclear then claims.training_run_id end as workload_run_id,
        charges.tag_run_id,
        charges.is_tag_ambiguous,
        charges.tag_run_id is not null
        and not coalesce(holders.is_of_cluster, false)
        and case
            -- others beside it on the machine have rows of their own
            when charges.pod_allocation = 'pod' then holders.line_id is not null and own_holdings.line_id is null
            else coalesce(holders.holder_count > 1 or holders.only_holder <> charges.tag_run_id, false)
        end as is_tag_contradicted,
        holders.line_id is not null as is_held,
        holders.is_of_cluster
    from charges
    left join jobs using (job_id)
    left join jobs as pipelines on charges.pipeline_id = pipelines.job_id
    left join {{ built_months_of(ref('int_workload_claims')) }} as claims using (usage_month, line_id)
    left join holders using (usage_month, line_id)
    left join {{ built_months_of(ref('int_line_overlaps')) }} as own_holdings
        on
            charges.usage_month = own_holdings.usage_month
            and charges.line_id = own_holdings.line_id
            and charges.tag_run_id = own_holdings.part_id
    where
        jobs.job_run_id is not null
        or pipelines.job_run_id is not null
        or claims.line_id is not null
        or charges.run_tag is not null
        or holders.line_id is not null
),

decided as (
    select
        *,
        case
            when job_run_id is not null then 'managed_job'
            when workload_run_id is not null then 'split_allocation'
            when tag_run_id is not null and is_tag_ambiguous then null
            when tag_run_id is not null and not is_tag_contradicted then 'tag'
            when is_of_cluster then 'cluster_key'
            when is_held then 'resource_time'
        end as attribution_rule
    from evidence
)

select
    line_id,
    usage_month,
    attribution_rule,
    case attribution_rule
        when 'managed_job' then job_run_id
        when 'split_allocation' then workload_run_id
        when 'tag' then tag_run_id
    end as training_run_id,
    -- of two runs either could be the one
    attribution_rule is null as is_ambiguous,
    case
        when attribution_rule in ('managed_job', 'split_allocation', 'tag') then 'high'
        when attribution_rule = 'cluster_key' or charge_period_end > charge_period_start + interval 1 hour then 'low'
        else 'medium'
    end as attribution_confidence,
    job_run_id is null and workload_run_id is null and is_tag_contradicted and not is_tag_ambiguous as is_conflict,
    tag_run_id
from decided

{%- set own_workload = "record_system in ('kubernetes', 'hyperpod')" %}

-- the month from which on the number or the name of a job is not enough, for two clusters are known; null while one is
with clusters as (
    select alias_system, cluster_name, min(first_month) as first_month
    from {{ ref('stg_training_runs__clusters') }}
    group by all
),

second_clusters as (
    select
        max(case when alias_system = 'slurm' then first_month end) as second_month,
        max(case when alias_system = 'kubernetes' then first_month end) as second_workload_month
    from (
        select
            alias_system,
            first_month,
            row_number() over (partition by alias_system order by first_month, cluster_name) as place
        from clusters
    ) as in_order
    where place = 2
),

begun as (
    select record_system, record_run_id, cast(date_trunc('month', min(started_at)) as date) as first_month
    from (
        select record_system, record_run_id, started_at from {{ ref('stg_training_runs__attempts') }}
        union all
        select record_system, record_run_id, started_at from {{ ref('stg_training_runs__nodes') }}
    ) as starts
    group by all
),

ids as (
    select distinct
        record_system,
        runs.recorded_id,
        record_run_id,
        coalesce(begun.first_month < second_clusters.second_month, second_clusters.second_month is null) as has_one_cluster,
        coalesce(begun.first_month < second_clusters.second_workload_month, second_clusters.second_workload_month is null)
            as has_one_workload_cluster
    from {{ ref('stg_training_runs__runs') }} as runs
    left join begun using (record_system, record_run_id)
    cross join second_clusters
),

-- of a workload the id is its name, with its cluster or alone
numbered as (
    select distinct
        record_system,
        recorded_id,
        alias_system,
        {{ replace_all('alias_id', '^.*/', '') }} as job_number,
        case when alias_system = 'slurm' then alias_id not like '%/%' else alias_id not like '%/%/%' end as is_bare
    from {{ ref('stg_training_runs__aliases') }}
    where
        (alias_system = 'slurm' and alias_id = recorded_id)
        or (
            alias_system = 'kubernetes'
            and {{ own_workload }}
            and recorded_id in (
                {{ replace_all('alias_id', '^.*/', '') }},
                split_part(alias_id, '/', 1) || '/' || {{ replace_all('alias_id', '^.*/', '') }}
            )
        )
),

named as (
    select
        record_system,
        recorded_id,
        ids.record_run_id,
        ids.has_one_cluster,
        ids.has_one_workload_cluster,
        numbered.job_number,
        numbered.is_bare,
        numbered.recorded_id is not null as is_numbered,
        case when numbered.alias_system = 'kubernetes' then ids.has_one_workload_cluster else ids.has_one_cluster end as is_enough
    from ids
    left join numbered using (record_system, recorded_id)
)

select
    record_system,
    recorded_id,
    record_run_id,
    has_one_cluster,
    has_one_workload_cluster,
    is_numbered,
    coalesce(is_bare and not is_enough, false) as is_number_unclear,
    -- with and without the cluster it is one name while there is one cluster
    case when is_enough then coalesce(job_number, recorded_id) else recorded_id end as spelling,
    case when is_numbered and is_enough then {{ normalised_run_id('job_number') }} else record_run_id end as run_name
from named

-- the month from which on the number of a job is not enough, for two clusters are known; null while one is
with clusters as (
    select cluster_name, min(first_month) as first_month
    from {{ ref('stg_training_runs__clusters') }}
    group by all
),

second_clusters as (
    select max(case when place = 2 then first_month end) as second_month
    from (select first_month, row_number() over (order by first_month, cluster_name) as place from clusters) as in_order
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
        coalesce(begun.first_month < second_clusters.second_month, second_clusters.second_month is null) as has_one_cluster
    from {{ ref('stg_training_runs__runs') }} as runs
    left join begun using (record_system, record_run_id)
    cross join second_clusters
),

numbered as (
    select distinct
        record_system,
        recorded_id,
        {{ replace_all('alias_id', '^.*/', '') }} as job_number,
        alias_id not like '%/%' as is_bare
    from {{ ref('stg_training_runs__aliases') }}
    where alias_system = 'slurm' and alias_id = recorded_id
)

select
    record_system,
    recorded_id,
    ids.record_run_id,
    ids.has_one_cluster,
    numbered.recorded_id is not null as is_numbered,
    coalesce(numbered.is_bare and not ids.has_one_cluster, false) as is_number_unclear,
    -- with and without the cluster it is one name while there is one cluster
    case when ids.has_one_cluster then coalesce(numbered.job_number, recorded_id) else recorded_id end as spelling,
    case
        when numbered.recorded_id is not null and ids.has_one_cluster then {{ normalised_run_id('numbered.job_number') }}
        else ids.record_run_id
    end as run_name
from ids
left join numbered using (record_system, recorded_id)

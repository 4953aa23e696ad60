-- one record of a file that names a job with its cluster: of Slurm, or of a workload of Kubernetes, whose own record states it.
-- What never started has no month
with jobs as (
    select
        _source_name as source_name,
        _source_object as source_object,
        record_system,
        recorded_id,
        lower(alias_system) as alias_system,
        min(case
            when lower(alias_system) = 'slurm' then {{ replace_all('alias_id', '/[^/]*$', '') }}
            else {{ replace_all('alias_id', '/.*$', '') }}
        end) as cluster_name
    from {{ source('raw', 'training_runs') }}
    where
        part = 'alias'
        and (
            (lower(alias_system) = 'slurm' and alias_id like '%/%')
            or (alias_system = 'kubernetes' and alias_id like '%/%/%' and record_system in ('kubernetes', 'hyperpod'))
        )
    group by all
),

starts as (
    select
        _source_name as source_name,
        _source_object as source_object,
        record_system,
        recorded_id,
        min(started_at) as started_at
    from {{ source('raw', 'training_runs') }}
    group by all
)

select
    source_name,
    source_object,
    record_system,
    recorded_id,
    jobs.alias_system,
    jobs.cluster_name,
    cast(date_trunc('month', starts.started_at) as date) as first_month
from jobs
inner join starts using (source_name, source_object, record_system, recorded_id)
where starts.started_at is not null

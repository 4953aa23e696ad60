-- one record of a file that names a job of Slurm with its cluster; a job that never started has no month
with jobs as (
    select
        _source_name as source_name,
        _source_object as source_object,
        record_system,
        recorded_id,
        min(case
            when part = 'alias' and lower(alias_system) = 'slurm' and alias_id like '%/%'
                then {{ replace_all('alias_id', '/[^/]*$', '') }}
        end) as cluster_name,
        min(started_at) as started_at
    from {{ source('raw', 'training_runs') }}
    group by all
)

select
    source_name,
    source_object,
    record_system,
    recorded_id,
    cluster_name,
    cast(date_trunc('month', started_at) as date) as first_month
from jobs
where cluster_name is not null and started_at is not null

select distinct
    record_system,
    recorded_id,
    {{ normalised_run_id('recorded_id') }} as record_run_id,
    lower(alias_system) as alias_system,
    alias_id
from {{ source('raw', 'training_runs') }}
-- a plan that pays for a job and a cluster are no names of a run: stg_training_runs__plans and __hyperpod_clusters
where part = 'alias' and alias_id is not null and lower(alias_system) not in ('training_plan', 'hyperpod_cluster')

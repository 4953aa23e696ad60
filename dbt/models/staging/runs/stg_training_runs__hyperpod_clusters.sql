select distinct
    alias_id as cluster_name,
    recorded_id as cluster_arn
from {{ source('raw', 'training_runs') }}
where part = 'alias' and record_system = 'hyperpod_cluster'

select distinct
    record_system,
    recorded_id,
    alias_id as plan_arn
from {{ source('raw', 'training_runs') }}
where part = 'alias' and alias_id is not null and lower(alias_system) = 'training_plan'

select distinct
    record_system,
    recorded_id,
    {{ normalised_run_id('recorded_id') }} as record_run_id,
    lower(alias_system) as alias_system,
    alias_id
from {{ source('raw', 'training_runs') }}
where part = 'alias' and alias_id is not null

-- of each run how like its id is to a name which no run has
select
    training_run_id,
    contains(training_run_id, name) as has_name,
    jaro_winkler_similarity(training_run_id, name) as similarity
from {{ ref('dim_training_runs') }}
cross join (select lower({{ argument('name', "''") }}) as name) as asked

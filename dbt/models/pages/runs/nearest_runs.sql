-- of each run how like its id is to a name which no run has
with asked as (
    select lower({{ argument('name', "''") }}) as run_name
)

select
    runs.training_run_id,
    contains(runs.training_run_id, asked.run_name) as has_name,
    jaro_winkler_similarity(runs.training_run_id, asked.run_name) as similarity
from {{ ref('dim_training_runs') }} as runs
cross join asked

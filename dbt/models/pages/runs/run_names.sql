-- every name of a run, the best kind of name first
select training_run_id, training_run_id as run_name, 1 as position from {{ ref('dim_training_runs') }}
union all
select training_run_id, recorded_id as run_name, 1 as position from {{ ref('dim_training_runs') }}
where recorded_id <> training_run_id
union all
select distinct training_run_id, alias_id as run_name, 2 as position from {{ source('ops', 'run_aliases') }}
union all
select distinct training_run_id, attempt_id as run_name, 3 as position from {{ ref('fct_run_attempts') }}

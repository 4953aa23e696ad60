select distinct training_run_id from {{ ref('int_run_records') }}
where is_ambiguous

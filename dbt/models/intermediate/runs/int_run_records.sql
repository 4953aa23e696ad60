with records as (
    select
        *,
        case record_system when 'run_json' then '1' when 'sagemaker' then '2' when 'vertex' then '2' else '3' end
        || '|' || source_name || '|' || source_object || '|' || cast(row_number as string) as precedence
    from {{ ref('stg_training_runs__runs') }}
),

declared_aliases as (
    select alias_system, alias_id, min(record_run_id) as training_run_id
    from {{ ref('stg_training_runs__aliases') }}
    where record_system = 'run_json'
    group by all
),

adopted_records as (
    select aliases.record_system, aliases.record_run_id, min(declared_aliases.training_run_id) as training_run_id
    from {{ ref('stg_training_runs__aliases') }} as aliases
    inner join declared_aliases using (alias_system, alias_id)
    where aliases.record_system <> 'run_json'
    group by all
),

records_of_runs as (
    select
        records.*,
        coalesce(adopted_records.training_run_id, records.record_run_id) as training_run_id,
        adopted_records.training_run_id is not null and adopted_records.training_run_id <> records.record_run_id as is_adopted
    from records
    left join adopted_records using (record_system, record_run_id)
),

spellings as (
    select training_run_id, count(distinct recorded_id) as spelling_count
    from records_of_runs
    where not is_adopted
    group by all
)

select
    records_of_runs.*,
    coalesce(spellings.spelling_count, 1) > 1 as is_ambiguous,
    row_number() over (partition by records_of_runs.training_run_id order by records_of_runs.precedence) as record_rank
from records_of_runs
left join spellings using (training_run_id)

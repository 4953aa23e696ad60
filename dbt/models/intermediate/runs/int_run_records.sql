with records as (
    select
        *,
        case record_system when 'run_json' then '1' when 'sagemaker' then '2' when 'vertex' then '2' else '3' end || '|' || source_name || '|' || source_object || '|' || cast(row_number as string) as precedence
    from {{ ref('stg_training_runs__runs') }}
),

declared as (
    select alias_system, alias_id, min(record_run_id) as training_run_id
    from {{ ref('stg_training_runs__aliases') }}
    where record_system = 'run_json'
    group by alias_system, alias_id
),

adopted as (
    select
        aliases.record_system,
        aliases.record_run_id,
        min(declared.training_run_id) as training_run_id
    from {{ ref('stg_training_runs__aliases') }} as aliases
    inner join declared on aliases.alias_system = declared.alias_system and aliases.alias_id = declared.alias_id
    where aliases.record_system <> 'run_json'
    group by aliases.record_system, aliases.record_run_id
),

identified as (
    select
        records.*,
        coalesce(adopted.training_run_id, records.record_run_id) as training_run_id,
        adopted.training_run_id is not null and adopted.training_run_id <> records.record_run_id as is_adopted
    from records
    left join adopted on records.record_system = adopted.record_system and records.record_run_id = adopted.record_run_id
),

spellings as (
    select training_run_id, count(distinct recorded_id) as spelling_count
    from identified
    where not is_adopted
    group by training_run_id
)

select
    identified.*,
    coalesce(spellings.spelling_count, 1) > 1 as is_ambiguous,
    row_number() over (partition by identified.training_run_id order by identified.precedence) as record_rank
from identified
left join spellings on identified.training_run_id = spellings.training_run_id

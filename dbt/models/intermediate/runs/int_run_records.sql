{#- evidence about a run, the first first: our own record, what starts jobs, jobs themselves, logs -#}
{%- set ranks = {
    'run_json': 1, 'vertex_pipeline': 2, 'sagemaker': 3, 'vertex': 3, 'batch': 3, 'kubernetes': 3, 'slurm': 3, 'ray': 3,
} %}

with ranked_records as (
    select
        *,
        case record_system
            {%- for system, rank in ranks.items() %}
            when '{{ system }}' then '{{ rank }}'
            {%- endfor %}
            else '4'
        end as system_rank
    from {{ ref('stg_training_runs__runs') }}
),

records as (
    select
        *,
        -- row 2 before row 10, also as text
        system_rank || '|' || source_name || '|' || source_object || '|'
        || lpad(cast(row_number as string), 19, '0') as precedence
    from ranked_records
),

ids as (
    select record_run_id, min(system_rank) as id_rank
    from records
    group by all
),

-- names under which a record may be meant. Of a workload in Kubernetes its namespace and name, or the name alone; a record of
-- our own may put the cluster before them. A pipeline has several runs: the value of its label is no run's name
aliases as (
    select distinct
        aliases.record_system,
        record_run_id,
        ids.id_rank,
        aliases.alias_system,
        aliases.alias_id
    from {{ ref('stg_training_runs__aliases') }} as aliases
    inner join ids using (record_run_id)
    where aliases.alias_system <> 'vertex' or aliases.alias_id like '%/customJobs/%'
),

names as (
    select * from aliases

    union

    select
        record_system,
        record_run_id,
        id_rank,
        alias_system,
        {{ replace_all('alias_id', '^.*/', '') }} as alias_id
    from aliases
    where alias_system = 'kubernetes' and record_system <> 'run_json'
    {%- for prefix in ['^[^/]*/', '^[^/]*/[^/]*/'] %}

    union

    select
        record_system,
        record_run_id,
        id_rank,
        alias_system,
        {{ replace_all('alias_id', prefix, '') }} as alias_id
    from aliases
    where alias_system = 'kubernetes' and record_system = 'run_json' and alias_id like '%/%/{{ '%' if loop.first else '%/%' }}'
    {%- endfor %}
),

-- names of workloads are used again: one that two records claim means neither
declared as (
    select alias_system, alias_id, min(record_run_id) as training_run_id
    from names
    where record_system = 'run_json'
    group by all
    having alias_system <> 'kubernetes' or min(record_run_id) = max(record_run_id)
),

stated as (
    select names.record_run_id, min(declared.training_run_id) as training_run_id
    from names
    inner join declared using (alias_system, alias_id)
    where names.record_system <> 'run_json'
    group by all
),

-- a log that names a job belongs to the job, a job to the pipeline that started it
held_names as (
    select alias_system, alias_id, min(id_rank || record_run_id) as holder
    from names
    where id_rank <> '1'
    group by all
    having alias_system <> 'kubernetes' or min(record_run_id) = max(record_run_id)
),

parents as (
    select names.record_run_id, min(held_names.holder) as holder
    from names
    inner join held_names using (alias_system, alias_id)
    where names.id_rank > substr(held_names.holder, 1, 1) and substr(held_names.holder, 2) <> names.record_run_id
    group by all
),

families as (
    select
        ids.record_run_id,
        substr(parents.holder, 2) as parent_id,
        substr(grandparents.holder, 2) as grandparent_id
    from ids
    left join parents using (record_run_id)
    left join parents as grandparents on substr(parents.holder, 2) = grandparents.record_run_id
),

owners as (
    select
        families.record_run_id,
        coalesce(
            stated.training_run_id,
            stated_of_parents.training_run_id,
            stated_of_grandparents.training_run_id,
            families.grandparent_id,
            families.parent_id,
            families.record_run_id
        ) as training_run_id
    from families
    left join stated using (record_run_id)
    left join stated as stated_of_parents on families.parent_id = stated_of_parents.record_run_id
    left join stated as stated_of_grandparents on families.grandparent_id = stated_of_grandparents.record_run_id
),

records_of_runs as (
    select
        records.*,
        case when records.record_system = 'run_json' then record_run_id else owners.training_run_id end as training_run_id,
        records.record_system <> 'run_json' and owners.training_run_id <> record_run_id as is_adopted
    from records
    inner join owners using (record_run_id)
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

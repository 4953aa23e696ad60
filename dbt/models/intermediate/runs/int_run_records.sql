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
        ranked_records.*,
        names.run_name,
        names.spelling,
        names.has_one_cluster,
        names.has_one_workload_cluster,
        names.is_numbered,
        names.is_number_unclear,
        -- row 2 before row 10, also as text
        ranked_records.system_rank || '|' || ranked_records.source_name || '|' || ranked_records.source_object || '|'
        || lpad(cast(ranked_records.row_number as string), 19, '0') as precedence
    from ranked_records
    inner join {{ ref('int_run_ids') }} as names using (record_system, recorded_id)
),

ids as (
    select run_name, min(system_rank) as id_rank
    from records
    group by all
),

-- names under which a record may be meant. Of a workload in Kubernetes its namespace and name, or the name alone; a record of
-- our own may put the cluster before them. Without its cluster the number of a job of Slurm, or the name of a workload, is a name
-- while one cluster is known. A pipeline has several runs: the value of its label is no run's name
aliases as (
    select distinct
        record_system,
        run_name,
        ids.id_rank,
        names.has_one_cluster,
        names.has_one_workload_cluster,
        aliases.alias_system,
        aliases.alias_id
    from {{ ref('stg_training_runs__aliases') }} as aliases
    inner join {{ ref('int_run_ids') }} as names using (record_system, recorded_id)
    inner join ids using (run_name)
    where
        (aliases.alias_system <> 'vertex' or aliases.alias_id like '%/customJobs/%')
        and (aliases.alias_system <> 'slurm' or aliases.alias_id like '%/%' or names.has_one_cluster)
        -- a record of our own may have no time: whether a name is enough is known of the workload that it may mean
        and (
            aliases.alias_system <> 'kubernetes'
            or aliases.alias_id like '%/%/%'
            or record_system = 'run_json'
            or names.has_one_workload_cluster
        )
),

names as (
    select record_system, run_name, id_rank, alias_system, alias_id from aliases

    union

    select
        record_system,
        run_name,
        id_rank,
        alias_system,
        {{ replace_all('alias_id', '^.*/', '') }} as alias_id
    from aliases
    where
        (alias_system = 'kubernetes' and record_system <> 'run_json' and has_one_workload_cluster)
        or (alias_system = 'slurm' and has_one_cluster)
    {%- for prefix in ['^[^/]*/', '^[^/]*/[^/]*/'] %}

    union

    select
        record_system,
        run_name,
        id_rank,
        alias_system,
        {{ replace_all('alias_id', prefix, '') }} as alias_id
    from aliases
    where
        alias_system = 'kubernetes'
        and alias_id like '%/%/{{ '%' if loop.first else '%/%' }}'
        and (
            record_system = 'run_json'
            or has_one_workload_cluster
            or alias_id like '%/%/%/{{ '%' if loop.first else '%/%' }}'
        )
    {%- endfor %}
),

-- names of workloads are used again: one that two records claim means neither
declared as (
    select alias_system, alias_id, min(run_name) as training_run_id
    from names
    where record_system = 'run_json'
    group by all
    having alias_system <> 'kubernetes' or min(run_name) = max(run_name)
),

stated as (
    select names.run_name, min(declared.training_run_id) as training_run_id
    from names
    inner join declared using (alias_system, alias_id)
    where names.record_system <> 'run_json'
    group by all
),

-- a log that names a job belongs to the job, a job to the pipeline that started it
held_names as (
    select alias_system, alias_id, min(id_rank || run_name) as holder
    from names
    where id_rank <> '1'
    group by all
    having alias_system <> 'kubernetes' or min(run_name) = max(run_name)
),

parents as (
    select names.run_name, min(held_names.holder) as holder
    from names
    inner join held_names using (alias_system, alias_id)
    where names.id_rank > substr(held_names.holder, 1, 1) and substr(held_names.holder, 2) <> names.run_name
    group by all
),

families as (
    select
        ids.run_name,
        substr(parents.holder, 2) as parent_id,
        substr(grandparents.holder, 2) as grandparent_id
    from ids
    left join parents using (run_name)
    left join parents as grandparents on substr(parents.holder, 2) = grandparents.run_name
),

owners as (
    select
        families.run_name,
        coalesce(
            stated.training_run_id,
            stated_of_parents.training_run_id,
            stated_of_grandparents.training_run_id,
            families.grandparent_id,
            families.parent_id,
            families.run_name
        ) as training_run_id
    from families
    left join stated using (run_name)
    left join stated as stated_of_parents on families.parent_id = stated_of_parents.run_name
    left join stated as stated_of_grandparents on families.grandparent_id = stated_of_grandparents.run_name
),

records_of_runs as (
    select
        records.*,
        case when records.record_system = 'run_json' then run_name else owners.training_run_id end as training_run_id,
        records.record_system <> 'run_json' and owners.training_run_id <> run_name as is_adopted
    from records
    inner join owners using (run_name)
),

spellings as (
    select training_run_id, count(distinct spelling) > 1 or bool_or(is_number_unclear) as is_ambiguous
    from records_of_runs
    where not is_adopted
    group by all
),

-- a run inside another may name it by any id of its records; a run of that id goes first
outer_runs as (
    select
        recorded_parent_id,
        coalesce(min(case when training_run_id = recorded_parent_id then training_run_id end), min(training_run_id))
            as parent_run_id
    from (
        select record_run_id as recorded_parent_id, training_run_id from records_of_runs
        union
        select training_run_id as recorded_parent_id, training_run_id from records_of_runs
    ) as ids_of_runs
    group by all
)

select
    records_of_runs.*,
    nullif(coalesce(outer_runs.parent_run_id, records_of_runs.recorded_parent_id), records_of_runs.training_run_id)
        as parent_run_id,
    coalesce(spellings.is_ambiguous, false) as is_ambiguous,
    row_number() over (partition by records_of_runs.training_run_id order by records_of_runs.precedence) as record_rank
from records_of_runs
left join spellings using (training_run_id)
left join outer_runs on records_of_runs.recorded_parent_id = outer_runs.recorded_parent_id

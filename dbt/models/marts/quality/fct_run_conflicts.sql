{%- set counted = {'steps': 'steps_system', 'tokens': 'log_system', 'useful_tokens': 'log_system'} %}

-- most runs have one record, which contradicts nothing
with twice as (
    select distinct training_run_id from {{ ref('int_run_records') }}
    where record_rank > 1
),

field_values as (
    {%- for field in run_fields() %}
    select
        training_run_id,
        '{{ field }}' as field,
        source_name || '/' || source_object as source,
        precedence,
        cast({{ field }} as string) as value
    from {{ ref('int_run_records') }}
    where not is_ambiguous and {{ field }} is not null and training_run_id in (select twice.training_run_id from twice)
    union all
    {%- endfor %}
    {%- for field, system in counted.items() %}

    select
        training_run_id,
        '{{ field }}' as field,
        'log of ' || {{ system }} as source,
        '9' as precedence,
        cast(logged_{{ field }} as string) as value
    from {{ ref('int_run_progress') }}
    where logged_{{ field }} is not null
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

ranked_values as (
    -- the first record that states a field is chosen, a log's count last
    select *, row_number() over (partition by training_run_id, field order by precedence) as field_rank
    from field_values
)

select
    chosen.training_run_id,
    chosen.field,
    chosen.source as source_a,
    chosen.value as value_a,
    other.source as source_b,
    other.value as value_b,
    chosen.value as chosen
from ranked_values as chosen
inner join ranked_values as other using (training_run_id, field)
where chosen.field_rank = 1 and other.field_rank > 1 and chosen.value <> other.value

union all

select training_run_id, field, source_a, value_a, source_b, value_b, chosen
from {{ ref('int_record_conflicts') }}

union all

-- of a tag and a resource the least over all months; whatever else is reported names its month
select
    training_run_id,
    field,
    source_a,
    value_a,
    source_b,
    min(value_b) as value_b,
    min(chosen) as chosen
from {{ ref('int_run_conflicts') }}
group by training_run_id, field, source_a, value_a, source_b

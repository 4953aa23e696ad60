-- most runs have one record, which contradicts nothing
with told_twice as (
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
    where not is_ambiguous and {{ field }} is not null and training_run_id in (select told_twice.training_run_id from told_twice)
    {% if not loop.last %}union all{% endif %}
    {%- endfor %}
),

ranked_values as (
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

-- of a tag and a resource the least over all months; whatever else is told names its month
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

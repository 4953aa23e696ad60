{%- set fields = [
    'provider_name', 'workload_key', 'pair_key', 'model_name', 'framework', 'team', 'tokens', 'useful_tokens', 'steps', 'model_flops',
    'target_metric', 'target_direction', 'target_value', 'final_value',
] %}
with records as (
    select * from {{ ref('int_run_records') }}
    where not is_ambiguous
),

field_values as (
    {%- for field in fields %}
    select
        training_run_id,
        '{{ field }}' as field,
        source_name || '/' || source_object as source,
        precedence,
        cast({{ field }} as string) as value
    from records
    where {{ field }} is not null
    {% if not loop.last %}union all{% endif %}
    {%- endfor %}
),

ranked_values as (
    select *, row_number() over (partition by training_run_id, field order by precedence) as field_rank
    from field_values
),

line_holders as (
    select line_id, string_agg(part_id, ', ' order by part_id) as holders
    from {{ ref('int_line_overlaps') }}
    where part_id <> '~residual'
    group by line_id
),

tag_conflicts as (
    select
        attributions.tag_run_id as training_run_id,
        'resource ' || charges.resource_id as field,
        charges.source_name as source_a,
        min(attributions.tag_run_id) as value_a,
        min(line_holders.holders) as value_b
    from {{ ref('int_line_attributions') }} as attributions
    inner join {{ ref('int_charges') }} as charges using (line_id)
    inner join line_holders using (line_id)
    where attributions.is_conflict
    group by attributions.tag_run_id, charges.resource_id, charges.source_name
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

-- a tag names one run, the records show others on that resource then: time on the resource decides
select
    training_run_id,
    field,
    'tag in ' || source_a as source_a,
    value_a,
    'run records' as source_b,
    value_b,
    value_b as chosen
from tag_conflicts

with field_values as (
    {%- for field in run_fields() %}
    select
        training_run_id,
        '{{ field }}' as field,
        source_name || '/' || source_object as source,
        precedence,
        cast({{ field }} as string) as value
    from {{ ref('int_run_records') }}
    where not is_ambiguous and {{ field }} is not null
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
    group by all
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
    attributions.tag_run_id as training_run_id,
    'resource ' || charges.resource_id as field,
    'tag in ' || charges.source_name as source_a,
    attributions.tag_run_id as value_a,
    'run records' as source_b,
    min(line_holders.holders) as value_b,
    min(line_holders.holders) as chosen
from {{ ref('int_line_attributions') }} as attributions
inner join {{ ref('int_charges') }} as charges using (line_id)
inner join line_holders using (line_id)
where attributions.is_conflict
group by all

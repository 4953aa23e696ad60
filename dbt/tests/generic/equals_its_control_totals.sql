{% test equals_its_control_totals(model) %}
-- What the raw view of a kind reads of each delivery has the rows, and sums up measure by measure to the control totals, that it had
-- when it was landed.
-- Only deliveries that this build reads are looked at: a build of one month reads the files of one month.
{%- set kind = model.identifier %}
{%- set measures = controlled_measures(kind) %}
with landed as (
    select * from {{ source('raw', 'measure_totals') }}
    where kind = '{{ kind }}'
),

{%- if measures %}

sums as (
    select
        _source_name as source_name,
        _delivery_content_hash as content_hash
        {%- for name, type, decimals in measures %},
        {{ measure_sums(name, type, decimals) }}
        {%- endfor %}
    from {{ model }}
    where _delivery_content_hash in (select content_hash from landed)
    group by all
),
{%- endif %}

-- a row for each measure by its name: a branch for each of them takes ten times as long to plan
loaded as (
    {%- if measures %}
    {%- set names = measures | map(attribute=0) | list %}
    select
        source_name,
        content_hash,
        measure,
        case measure {%- for name in names %} when '{{ name }}' then {{ name }}__count {%- endfor %} end as value_count,
        case measure {%- for name in names %} when '{{ name }}' then {{ name }}__total {%- endfor %} end as total
    from sums
    cross join (values {%- for name in names %} ('{{ name }}') {{- ',' if not loop.last }} {%- endfor %}) as names (measure)
    {%- else %}
    select source_name, content_hash, measure, value_count, total
    from landed
    {%- endif %}
),

counted as (
    select * from loaded
    where value_count > 0
)

select
    source_name,
    measure,
    content_hash,
    landed.kind,
    landed.partition,
    landed.value_count as landed_values,
    counted.value_count as loaded_values,
    landed.total as landed_total,
    counted.total as loaded_total
from landed
full outer join counted using (source_name, measure, content_hash)
where landed.value_count is distinct from counted.value_count or landed.total is distinct from counted.total
{% endtest %}

{# For tests: the groups in which two relations have other sums, with both. A group that only one side has is named too, unless
   no row is as good as sums of 0 (`zero_if_missing`). #}
{% macro unequal_sums(left, right, keys, measures, s, zero_if_missing=false) -%}
select {{ keys }}
    {%- for x in measures %},
    {{ left }}_sums.{{ x }} as {{ left }}_{{ x }},
    {{ right }}_sums.{{ x }} as {{ right }}_{{ x }}
    {%- endfor %}
from (select {{ keys }}, {{ sums(measures, s) }} from {{ left }} group by all) as {{ left }}_sums
full outer join (select {{ keys }}, {{ sums(measures, s) }} from {{ right }} group by all) as {{ right }}_sums using ({{ keys }})
where
    {%- for x in measures %}
    {{ 'or ' if not loop.first }}
    {%- if zero_if_missing %}coalesce({{ left }}_sums.{{ x }}, 0) <> coalesce({{ right }}_sums.{{ x }}, 0)
    {%- else %}{{ left }}_sums.{{ x }} is distinct from {{ right }}_sums.{{ x }}{% endif %}
    {%- endfor %}
{%- endmacro %}

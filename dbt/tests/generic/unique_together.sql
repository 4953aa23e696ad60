{% test unique_together(model, columns) %}
-- rows whose key stands more than once; nulls count as a value
select {{ columns | join(', ') }}, count(*) as row_count
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1
{% endtest %}

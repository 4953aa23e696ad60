{% test unique_together(model, columns) %}
-- keys that more than one row has; nulls count as a value
select {{ columns | join(', ') }}, count(*) as row_count
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1
{% endtest %}

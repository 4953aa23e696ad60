{% test unique_together(model, columns) %}
-- keys that more than one row has; nulls count as a value. Where the month is part of the key, in the months of the build
select {{ columns | join(', ') }}, count(*) as row_count
from {{ model }}
{% if 'usage_month' in columns %}where {{ of_built_months() }}{% endif %}
group by {{ columns | join(', ') }}
having count(*) > 1
{% endtest %}

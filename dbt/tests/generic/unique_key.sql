{% test unique_key(model, columns, nullable=[]) %}
-- keys that more than one row has, or of which a part is missing, in one reading of the table; a part in `nullable` may be null, and counts as a
-- value. Where the month is part of the key, in the months of the build
select {{ columns | join(', ') }}, count(*) as row_count
from {{ model }}
{% if 'usage_month' in columns %}where {{ of_built_months() }}{% endif %}
group by {{ columns | join(', ') }}
having count(*) > 1{% for column in columns if column not in nullable %} or {{ column }} is null{% endfor %}
{% endtest %}

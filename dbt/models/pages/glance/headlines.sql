select
    *,
    case figure_id
        {%- for figure, label in headline_names().items() %}
        when '{{ figure }}' then '{{ label }}'
        {%- endfor %}
    end as label,
    list_position({{ headline_names().keys() | list }}, figure_id) as position,
    position <= 5 as is_on_first_page,
    -- a figure that neither quarter has is none of the others: a provider without a split of Scope 3 has none in any
    value is not null or prior_value is not null as is_known
from {{ ref('rpt_quarterly_figures') }}

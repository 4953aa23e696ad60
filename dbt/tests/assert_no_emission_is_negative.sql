-- Negative provider masses are quarantined; none reaches a run or a residual.
{{ config(meta={'dagster': {'ref': {'name': 'int_carbon_splits'}}}) }}
select *
from {{ ref('int_carbon_splits') }}
where
    {%- for mass in mass_names() %}
    {{ mass }} < 0{% if not loop.last %} or{% endif %}
    {%- endfor %}

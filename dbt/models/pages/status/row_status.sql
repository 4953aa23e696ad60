{%- set statuses = ['final', 'preliminary', 'not_published', 'no_cell'] %}
with rows_of_both as (
    select
        'cost' as book,
        usage_month,
        status
    from {{ ref('fct_training_run_costs') }}

    union all

    select
        'emissions' as book,
        usage_month,
        status
    from {{ ref('fct_training_run_emissions') }}
)

select
    quarter,
    book,
    usage_month
    {%- for status in statuses %},
    count(*) filter (where status = '{{ status }}') as {{ status }}_rows
    {%- endfor %}
from rows_of_both
{{ of_quarters() }}
group by all

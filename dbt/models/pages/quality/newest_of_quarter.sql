{%- set words = ['bills', 'carbon', 'telemetry', 'run records', 'own figures and rates'] %}
select
    quarters.quarter,
    case
        when kind = 'training_runs' then 'run records'
        when kind in {{ kinds_of_records() }} then 'own figures and rates'
        when kind in {{ kinds_of_telemetry() }} then 'telemetry'
        when kind like '%carbon%' then 'carbon'
        else 'bills'
    end as what,
    max(published_at) as newest,
    list_position({{ words }}, what) as position
from {{ ref('delivered_partitions') }}
inner join {{ ref('report_quarters') }} as quarters
    on usage_month is null or (usage_month >= quarters.quarter_start and usage_month < quarters.quarter_end)
group by all

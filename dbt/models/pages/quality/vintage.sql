select
    quarters.quarter,
    source_name,
    kind,
    {%- for month in ['month_1', 'month_2', 'month_3'] %}
    coalesce(
        strftime(max(published_at) filter (where usage_month = quarters.{{ month }}), '%Y-%m-%d %H:%M'),
        {{ nothing_delivered() }}
    ) as {{ month }},
    case
        when bool_or(is_day)
            then
                count(distinct dated) filter (where is_day and usage_month = quarters.{{ month }})
                || ' of ' || day(last_day(max(quarters.{{ month }})))
    end as {{ month }}_days,
    {%- endfor %}
    count(*) filter (where usage_month is null) as records,
    max(published_at) filter (where usage_month is null) as newest_record,
    count(*) filter (where usage_month >= quarter_start and usage_month < quarter_end) as delivery_count
from {{ ref('delivered_partitions') }}
cross join {{ ref('report_quarters') }} as quarters
group by all

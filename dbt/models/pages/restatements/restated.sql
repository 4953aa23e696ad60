-- a figure is a row once any part of it moved, or was or became unknown: `was` as published, `known_now` as known today
with compared as (
    select
        report_id,
        datapoint_id,
        max(before) filter (where cause = 'code') as was,
        max(after) filter (where cause = 'factor_or_seed') as known_now
        {%- for cause in ['code', 'bill', 'run_record', 'late_log', 'provider_model_version', 'factor_or_seed'] %},
        max(delta) filter (where cause = '{{ cause }}') as {{ cause }}_delta
        {%- endfor %}
    from {{ ref('fct_restatements') }}
    group by all
)

select
    *,
    known_now - was as difference,
    case
        when was <> 0 then cast(round(cast(known_now - was as double) / abs(cast(was as double)), 6) as decimal(18, 6))
    end as change_ratio,
    abs(change_ratio) as size_of_change,
    datapoint_id like '%/glance/%' as is_headline
from compared
where known_now is distinct from was

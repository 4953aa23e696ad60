-- a printed text or verdict is a row where it reads otherwise now, with each cause that changed it
with compared as (
    select
        report_id,
        datapoint_id,
        max(before) filter (where cause = 'code') as was,
        max(after) filter (where cause = 'factor_or_seed') as known_now,
        string_agg(cause, ', ' order by cause) filter (where before is distinct from after) as changed_by
    from {{ ref('fct_restated_texts') }}
    group by report_id, datapoint_id
)

select
    *,
    datapoint_id like '%verdict%' as is_verdict
from compared
where known_now is distinct from was

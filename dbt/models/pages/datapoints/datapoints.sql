select
    disclosure.quarter,
    framework,
    datapoint_id,
    disclosure.datapoint,
    disclosure.value,
    disclosure.unit,
    {{ filed_mark('disclosure') }} as filed,
    case when disclosure.not_available_reason is null then disclosure.method end as method,
    coalesce('not available: ' || disclosure.not_available_reason, disclosure.report_status) as availability,
    disclosure.expected_reference,
    disclosure.is_filed,
    listed.measure,
    listed.position
from {{ ref('rpt_quarterly_disclosure') }} as disclosure
inner join {{ ref('dim_datapoints') }} as listed using (framework, datapoint_id)

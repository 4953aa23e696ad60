select
    disclosure.quarter,
    framework,
    datapoint_id,
    disclosure.datapoint,
    disclosure.value,
    disclosure.unit,
    case when disclosure.not_available_reason is null then disclosure.method end as method,
    coalesce('not available: ' || disclosure.not_available_reason, disclosure.report_status) as availability,
    official.confidence as reference_confidence,
    official.reference,
    official.xbrl_name,
    official.source,
    {{ framework_position() }} as framework_position,
    official.position
from {{ ref('rpt_quarterly_disclosure') }} as disclosure
inner join {{ ref('dim_datapoints') }} as official using (framework, datapoint_id)

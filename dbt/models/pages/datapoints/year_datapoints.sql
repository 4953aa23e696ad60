select
    disclosure.fiscal_year,
    framework,
    datapoint_id,
    case
        when disclosure.id_kind = 'official' then coalesce(disclosure.xbrl_element, listed.reference)
        else 'ours; expected: ' || disclosure.expected_reference
    end as asked_as,
    disclosure.datapoint,
    disclosure.value,
    disclosure.unit,
    {{ filed_mark('disclosure') }} as filed,
    case when disclosure.not_available_reason is null then disclosure.method end as method,
    coalesce('not available: ' || disclosure.not_available_reason, disclosure.report_status) as availability,
    disclosure.id_kind,
    disclosure.edition,
    disclosure.xbrl_element,
    disclosure.expected_reference,
    disclosure.read_on,
    listed.confidence as reference_confidence,
    listed.source,
    disclosure.is_filed,
    {{ framework_position() }} as framework_position,
    listed.position
from {{ ref('rpt_yearly_disclosure') }} as disclosure
inner join {{ ref('dim_datapoints') }} as listed using (framework, datapoint_id)

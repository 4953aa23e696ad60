-- reports whose figures moved because the provider changed its model or the code changed: no trend crosses that
select distinct
    report_id,
    cause
from {{ ref('fct_restatements') }}
where cause in ('provider_model_version', 'code') and (delta <> 0 or (before is null) <> (after is null))

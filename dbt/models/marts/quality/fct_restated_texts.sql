-- worked out by `trainledger restatements`, as fct_restatements is
select report_id, datapoint_id, cause, before, after
from {{ source('raw', 'restated_texts') }}

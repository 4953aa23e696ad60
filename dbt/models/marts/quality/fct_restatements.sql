-- worked out by `trainledger restatements`, which builds the steps in between: SQL of one build cannot see another
select report_id, datapoint_id, cause, before, after, delta
from {{ source('raw', 'restatements') }}

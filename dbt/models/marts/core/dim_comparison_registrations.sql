select
    workload_key,
    pair_key,
    registered_by,
    registered_at,
    evidence_of_time,
    is_registered,
    planned_promise,
    planned_target_metric,
    planned_target_direction,
    cast(planned_target_value as decimal(38, 9)) as planned_target_value,
    cast(planned_tokens as decimal(38, 0)) as planned_tokens
from {{ ref('int_comparison_registrations') }}

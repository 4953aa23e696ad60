select
    gate,
    passed,
    failing_rows,
    detail
from {{ source('ops', 'gate_results') }}
where build_id = {{ this_build() }}

select build_id, finished_at, code_version, fingerprint
from {{ source('ops', 'builds') }}
where build_id = {{ this_build() }}

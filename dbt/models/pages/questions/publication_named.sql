select build_id, finished_at, (select max(contract_version) from {{ source('ops', 'contract') }}) as contract_version
from {{ source('ops', 'builds') }}

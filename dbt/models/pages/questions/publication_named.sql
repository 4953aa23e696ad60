with contract as (
    select max(contract_version) as contract_version from {{ source('ops', 'contract') }}
)

select builds.build_id, builds.finished_at, contract.contract_version
from {{ source('ops', 'builds') }} as builds
cross join contract

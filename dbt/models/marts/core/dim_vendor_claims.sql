select * from {{ ref('vendor_claims') }}

select * from {{ ref('regions') }}

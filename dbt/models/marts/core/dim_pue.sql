select * from {{ ref('pue') }}

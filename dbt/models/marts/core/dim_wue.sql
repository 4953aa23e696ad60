select * from {{ ref('wue') }}

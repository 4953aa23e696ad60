select * from {{ ref('prices') }}

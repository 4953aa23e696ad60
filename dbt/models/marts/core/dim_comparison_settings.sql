select
    'least_difference' as setting,
    cast(least_difference as double) as value
from {{ source('raw', 'settings') }}

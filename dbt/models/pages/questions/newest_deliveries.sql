select
    source_name, kind, provider_name,
    count(*) as deliveries,
    max(partition) filter (where is_elected) as newest_partition,
    max(published_at) as last_published_at,
    max(landed_at) as last_landed_at
from {{ source('ops', 'dim_deliveries') }}
group by all

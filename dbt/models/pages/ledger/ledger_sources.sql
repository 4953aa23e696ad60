with quarantined as (
    select source_name, count(*) as row_count
    from {{ ref('fct_quarantine') }}
    group by source_name
)

select
    deliveries.source_name, deliveries.kind, deliveries.provider_name,
    max(deliveries.partition) filter (
        where deliveries.is_elected and regexp_matches(deliveries.partition, '^[0-9]{4}-[0-9]{2}(-[0-9]{2})?(@.*)?$')
    ) as newest_partition,
    max(deliveries.published_at) filter (where deliveries.is_elected) as published_at,
    max(deliveries.landed_at) as landed_at,
    count(*) filter (where deliveries.is_elected) as deliveries,
    coalesce(any_value(quarantined.row_count), 0) as quarantined
from {{ source('ops', 'dim_deliveries') }} as deliveries
left join quarantined using (source_name)
group by deliveries.source_name, deliveries.kind, deliveries.provider_name

-- of the deliveries that count and have use between two days those that are groups which an engine made
select
    source_name,
    kind,
    grouped_by,
    count(*) as delivery_count,
    sum(grouped_rows) as grouped_rows,
    sum(rows) as rows,
    min(first_usage_month) as first_usage_month,
    max(last_usage_month) as last_usage_month,
    count(*) filter (where is_raw_kept) as kept_count
from {{ source('ops', 'dim_deliveries') }}
where
    is_elected
    and grouped_by is not null
    and last_usage_month >= {{ argument('start', "date '1900-01-01'") }}
    and first_usage_month < {{ argument('end', "date '9999-01-01'") }}
group by all

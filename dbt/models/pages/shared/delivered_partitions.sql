-- The partition of a bill or a carbon export begins with its month, or its day; a file of telemetry has it behind other numbers,
-- as host=i-2026-01~neuron0-2026-09-22T09-30-00Z.jsonl or vm~plugins~profile~2026_09_07_09_05_20~vm.xplane.pb: its last date
-- counts. The name of a run record may hold anything: moe-2026-04.run.json is of no month.
select
    source_name,
    kind,
    published_at,
    case
        when kind in {{ kinds_of_records() }} then ''
        when kind in {{ kinds_of_telemetry() }}
            then regexp_extract(replace(partition, '_', '-'), '.*(^|[^0-9])([0-9]{4}-[0-9]{2}(-[0-9]{2})?)', 2)
        else regexp_extract(partition, '^([0-9]{4}-[0-9]{2}(-[0-9]{2})?)', 1)
    end as dated,
    case when dated <> '' then cast(left(dated, 7) || '-01' as date) end as usage_month,
    length(dated) = 10 as is_day
from {{ source('ops', 'dim_deliveries') }}
where is_elected

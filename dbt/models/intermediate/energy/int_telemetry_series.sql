{{ config(materialized='by_month', meta={'empty_without': ['int_telemetry_samples'], 'by_day': 'usage_day'}) }}

select
    usage_month,
    usage_day,
    coalesce(run_key, '') as run,
    coalesce(host_id, '') as host,
    min(sample_from_us) as first_us,
    max(sample_to_us) as last_us
from {{ ref('int_telemetry_samples') }}
where {{ in_build_months() }} {{ and_in_built_days() }}
group by all

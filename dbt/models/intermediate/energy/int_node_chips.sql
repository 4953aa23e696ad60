{{ config(materialized='by_month', meta={'empty_without': ['int_node_samples'], 'by_day': 'usage_day'}) }}

select
    usage_month,
    usage_day,
    resource_id,
    {{ host_of_device() }} as host_key,
    device_id,
    keyed_run_id,
    bool_or(is_measured) as is_measured,
    bool_or(is_present) as is_present
from {{ ref('int_node_samples') }}
where {{ in_build_months() }} {{ and_in_built_days() }}
group by all

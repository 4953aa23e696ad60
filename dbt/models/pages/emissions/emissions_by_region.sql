select
    quarter,
    provider_name,
    region_id,
    usage_month,
    {{ whole_masses() }},
    case
        when count(*) = count(provider_total_location_based_kgco2e)
            then coalesce(sum(provider_total_location_based_kgco2e) filter (where is_run), 0)
    end as run_location_based_kgco2e
from {{ ref('emission_parts') }}
group by all

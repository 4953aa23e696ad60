select
    workload_key,
    accelerator_type,
    provider_name,
    max(run_count) as run_count,
    string_agg(region_id, ', ' order by region_id) filter (where is_where_it_ran) as own_regions,
    max(what_if_location_based_kgco2e) filter (where is_where_it_ran) as own_kgco2e,
    min_by(region_id, (what_if_location_based_kgco2e, region_id)) as least_region_id,
    min(what_if_location_based_kgco2e) as least_kgco2e,
    max_by(region_id, (what_if_location_based_kgco2e, region_id)) as most_region_id,
    max(what_if_location_based_kgco2e) as most_kgco2e,
    count(*) filter (where what_if_location_based_kgco2e is null) as without_figure
from {{ ref('rpt_region_what_if') }}
group by workload_key, accelerator_type, provider_name

{{ config(materialized='by_month') }}

with region_months as (
    select distinct usage_month, provider_name, region_id from {{ ref('int_measured_run_energy') }}
),

published as (
    {{ published_of_regions('wue', 'wue_l_per_kwh') }}
),

applied as (
    select usage_month, provider_name, region_id, wue_l_per_kwh, basis, figure_source as wue_source
    from published
    qualify row_number() over (partition by usage_month, provider_name, region_id order by source_rank, data_year desc) = 1
),

-- regions differ by two orders of magnitude: what is no measurement of the region itself may be as far from it as they lie apart
measured as (
    select provider_name, min(wue_l_per_kwh) as least_l_per_kwh, max(wue_l_per_kwh) as greatest_l_per_kwh
    from {{ ref('wue') }}
    where basis = 'measured_region'
    group by all
)

select
    applied.usage_month,
    provider_name,
    applied.region_id,
    applied.wue_l_per_kwh,
    case when applied.basis = 'measured_region' then applied.wue_l_per_kwh else measured.least_l_per_kwh end as wue_l_per_kwh_low,
    case when applied.basis = 'measured_region' then applied.wue_l_per_kwh else measured.greatest_l_per_kwh end
        as wue_l_per_kwh_high,
    applied.wue_source
from applied
left join measured using (provider_name)

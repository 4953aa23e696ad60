{{ config(materialized='by_month') }}

with region_months as (
    -- of machines whose type is unknown too, whosever they are
    select distinct regions.usage_month, overhead.provider_name, regions.region_id
    from {{ ref('int_resource_regions') }} as regions
    cross join {{ ref('it_overhead') }} as overhead

    union

    select distinct usage_month, provider_name, region_id from {{ ref('int_resource_bills') }}
),

published as (
    {{ published_of_regions('pue', 'pue_ratio') }}
),

known as (
    select usage_month, provider_name, region_id, pue_ratio, figure_source as pue_source, source_rank, data_year
    from published

    union all

    select
        usage_month,
        region_months.provider_name,
        region_id,
        cast(own.pue_ratio as decimal(18, 4)) as pue_ratio,
        own.pue_source,
        0 as source_rank,
        cast(0 as bigint) as data_year
    from region_months
    inner join {{ ref('int_own_figures_by_place') }} as own using (usage_month, region_id)
    where own.training_run_id = '' and own.pue_ratio is not null
)

select
    usage_month,
    provider_name,
    region_id,
    pue_ratio,
    pue_source
from known
qualify row_number() over (partition by usage_month, provider_name, region_id order by source_rank, data_year desc) = 1

{{ config(materialized='by_month') }}

with region_months as (
    -- of machines whose type is unknown too, whosever they are
    select distinct regions.usage_month, overhead.provider_name, regions.region_id
    from {{ ref('int_resource_regions') }} as regions
    cross join {{ ref('it_overhead') }} as overhead

    union

    select distinct usage_month, provider_name, region_id from {{ ref('int_resource_bills') }}
),

known as (
    select
        region_months.usage_month,
        provider_name,
        region_months.region_id,
        pue.pue_ratio,
        pue.source || ', ' || cast(pue.data_year as string)
        || case when pue.region_id = '*' then ', fleet' else ', ' || pue.region_id end
        || case when pue.confidence = 'assumed' then ', assumed' else '' end as pue_source,
        case when pue.region_id = '*' then 2 else 1 end as source_rank,
        pue.data_year
    from region_months
    inner join {{ ref('pue') }} as pue using (provider_name)
    where
        pue.region_id in (region_months.region_id, '*')
        and pue.data_year <= extract(year from region_months.usage_month)
        and pue.data_year >= extract(year from region_months.usage_month) - 4

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

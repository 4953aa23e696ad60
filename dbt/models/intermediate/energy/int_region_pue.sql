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
    select
        region_months.usage_month,
        region_months.region_id,
        pue.provider_name,
        pue.region_id = '*' as is_fleet,
        pue.confidence = 'assumed' as is_assumed,
        pue.pue_ratio,
        pue.source,
        pue.data_year,
        cast(extract(year from region_months.usage_month) as bigint) - pue.data_year as age_years
    from region_months
    inner join {{ ref('pue') }} as pue using (provider_name)
    where pue.region_id in (region_months.region_id, '*')
),

known as (
    select
        usage_month,
        provider_name,
        region_id,
        pue_ratio,
        source || ', ' || cast(data_year as string)
        || case when is_fleet then ', fleet' else ', ' || region_id end
        || case when is_assumed then ', assumed' else '' end
        || case when age_years > 4 then ', ' || cast(age_years as string) || ' years old' else '' end as pue_source,
        -- what is too old counts on where there is nothing newer
        case when is_fleet then 2 else 1 end + case when age_years > 4 then 2 else 0 end as source_rank,
        data_year
    from published
    where age_years >= 0

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

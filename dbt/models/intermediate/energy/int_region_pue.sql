with region_months as (
    select distinct regions.usage_month, types.provider_name, regions.region_id
    from {{ ref('int_resource_regions') }} as regions
    inner join {{ ref('int_node_spans') }} using (usage_month, resource_id)
    inner join {{ ref('accelerator_types') }} as types using (accelerator_type)

    union

    select distinct usage_month, provider_name, region_id from {{ ref('int_resource_bills') }}
)

select
    region_months.usage_month,
    provider_name,
    region_months.region_id,
    pue.pue_ratio,
    pue.source || ', ' || cast(pue.data_year as string)
    || case when pue.region_id = '*' then ', fleet' else ', ' || pue.region_id end
    || case when pue.confidence = 'assumed' then ', assumed' else '' end as pue_source
from region_months
inner join {{ ref('pue') }} as pue using (provider_name)
where
    pue.region_id in (region_months.region_id, '*')
    and pue.data_year <= extract(year from region_months.usage_month)
    and pue.data_year >= extract(year from region_months.usage_month) - 4
qualify row_number() over (
    partition by region_months.usage_month, provider_name, region_months.region_id
    order by case when pue.region_id = '*' then 1 else 0 end, pue.data_year desc
) = 1

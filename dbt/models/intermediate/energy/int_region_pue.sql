with region_months as (
    select distinct regions.usage_month, types.provider_name, regions.region_id
    from {{ ref('int_resource_regions') }} as regions
    inner join {{ ref('int_node_spans') }} using (usage_month, resource_id)
    inner join {{ ref('accelerator_types') }} as types using (accelerator_type)

    union

    select distinct usage_month, provider_name, region_id from {{ ref('int_resource_bills') }}
),

ranked_pue as (
    select
        region_months.usage_month,
        region_months.provider_name,
        region_months.region_id,
        pue.pue_ratio,
        pue.source
        || ', '
        || cast(pue.data_year as string)
        || case when pue.region_id = '*' then ', fleet' else ', ' || pue.region_id end as pue_source,
        row_number() over (
            partition by region_months.usage_month, region_months.provider_name, region_months.region_id
            order by case when pue.region_id = '*' then 1 else 0 end, pue.data_year desc
        ) as pue_rank
    from region_months
    inner join {{ ref('pue') }} as pue
        on
            region_months.provider_name = pue.provider_name
            and pue.region_id in (region_months.region_id, '*')
            and pue.data_year <= extract(year from region_months.usage_month)
            and pue.data_year >= extract(year from region_months.usage_month) - 4
)

select usage_month, provider_name, region_id, pue_ratio, pue_source
from ranked_pue
where pue_rank = 1

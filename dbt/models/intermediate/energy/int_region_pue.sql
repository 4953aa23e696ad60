with places as (
    select distinct regions.usage_month, types.provider_name, regions.region_id
    from {{ ref('int_resource_regions') }} as regions
    inner join {{ ref('int_node_spans') }} as spans on regions.usage_month = spans.usage_month and regions.resource_id = spans.resource_id
    inner join {{ ref('accelerator_types') }} as types on spans.accelerator_type = types.accelerator_type

    union

    select distinct usage_month, provider_name, region_id from {{ ref('int_resource_bills') }}
),

ranked as (
    select
        places.usage_month,
        places.provider_name,
        places.region_id,
        pue.pue_ratio,
        pue.source || ', ' || cast(pue.data_year as string) || case when pue.region_id = '*' then ', fleet' else ', ' || pue.region_id end as pue_source,
        row_number() over (
            partition by places.usage_month, places.provider_name, places.region_id
            order by case when pue.region_id = '*' then 1 else 0 end, pue.data_year desc
        ) as pue_rank
    from places
    inner join {{ ref('pue') }} as pue
        on
            places.provider_name = pue.provider_name
            and pue.region_id in (places.region_id, '*')
            and pue.data_year <= extract(year from places.usage_month)
            and pue.data_year >= extract(year from places.usage_month) - 4
)

select usage_month, provider_name, region_id, pue_ratio, pue_source
from ranked
where pue_rank = 1

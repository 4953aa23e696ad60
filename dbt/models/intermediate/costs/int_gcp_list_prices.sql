{{ config(meta={'empty_without': ['stg_gcp_prices__prices']}) }}
{%- set price = 'accelerator_type, region_id, purchase_option, billing_currency' %}
{%- set held_for = 'cast(listed_on + interval 28 day as date)' %}
-- only what the list states plainly: an hour in one tier. A price of 0 is none
with listed_tiers as (
    select
        *,
        count(*) over (partition by source_name, source_object, row_number, region_id) as tier_count
    from {{ ref('stg_gcp_prices__prices') }}
),

listed_skus as (
    select
        tiers.listed_on,
        tiers.region_id,
        tiers.billing_currency,
        coalesce(nullif(skus.instance_type, ''), skus.gpu_type) as accelerator_type,
        case
            when skus.purchase_mode in ('on_demand', 'spot', 'flex_start') then skus.purchase_mode
            when skus.purchase_mode = 'reserved' and lower(sku_description) like '%calendar mode%' then 'calendar'
            when skus.purchase_mode = 'commitment' and lower(sku_description) like '%1 year%' then 'commitment_1y'
            when skus.purchase_mode = 'commitment' and lower(sku_description) like '%3 years%' then 'commitment_3y'
        end as purchase_option,
        -- of a chip: the unit of the older generations is four of them
        cast(
            cast(tiers.list_price as decimal(24, 9)) * case when skus.instance_type in ('v2', 'v3', 'v4') then 0.25 else 1.00 end
            as decimal(38, 12)
        ) as price_per_unit
    from listed_tiers as tiers
    inner join {{ ref('int_gcp_skus') }} as skus using (service_code, service_description, sku_description)
    where
        skus.is_accelerator_type
        -- Compute Engine and Cloud TPU: what Vertex AI adds is another price
        and service_code in ('6F81-5844-456A', 'E000-3F24-B8AA')
        and tiers.region_id is not null
        and tiers.tier_count = 1
        and tiers.price_quantity = 1
        and tiers.pricing_unit in ('h', 'hour', 'hours')
        and tiers.list_price > 0
),

-- of one thing that a list has at two prices neither is taken
listed as (
    select {{ price }}, listed_on, min(price_per_unit) as price_per_unit
    from listed_skus
    where accelerator_type <> '' and purchase_option is not null
    group by all
    having min(price_per_unit) = max(price_per_unit)
),

lists as (
    select distinct billing_currency, listed_on from listed_skus
),

following_lists as (
    select *, lead(listed_on) over (partition by billing_currency order by listed_on) as next_list_on from lists
),

-- a list is in force until the next one, and for four weeks where none comes: behind that the price is unknown
in_force as (
    select
        {{ price }},
        listed_on,
        listed.price_per_unit,
        case
            when following_lists.next_list_on < {{ held_for }} then following_lists.next_list_on
            else {{ held_for }}
        end as in_force_to
    from listed
    inner join following_lists using (billing_currency, listed_on)
),

changes as (
    select
        *,
        case
            when
                lag(price_per_unit) over (partition by {{ price }} order by listed_on) = price_per_unit
                and lag(in_force_to) over (partition by {{ price }} order by listed_on) = listed_on
                then 0
            else 1
        end as is_change
    from in_force
),

spans as (
    select
        *,
        sum(is_change) over (
            partition by {{ price }} order by listed_on rows between unbounded preceding and current row
        ) as span
    from changes
)

select
    'google:list:' || accelerator_type || ':' || region_id || ':' || purchase_option || ':' || billing_currency || ':'
    || cast(min(listed_on) as string) as price_id,
    'Google Cloud' as provider_name,
    accelerator_type,
    region_id,
    purchase_option,
    price_per_unit,
    'chip-hour' as unit,
    billing_currency as currency,
    min(listed_on) as valid_from,
    max(in_force_to) as valid_to,
    'price list of Google Cloud, from its pricing export' as source,
    max(listed_on) as source_date
from spans
group by {{ price }}, price_per_unit, span

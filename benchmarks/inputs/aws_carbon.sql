-- The month's carbon Data Export: whole grams per account, region and product of what was billed; an invented intensity of list
-- cost.
with cells as (
    select
        a.account_id, s.region_id, s.place,
        case when s.product_code in ('AmazonEC2', 'AmazonS3', 'AmazonCloudFront') then s.product_code else 'Other' end as product,
        cast(floor(sum(l.list) * 40) as bigint) as location_grams
    from line_hours as l
    inner join series as s using (series_id)
    inner join accounts as a on s.account_n = a.n
    where s.family in ('box', 'volume', 'transfer', 'other', 'node', 'job') and s.region_id is not null
    group by all
),
scopes as (
    select *, location_grams * 4 // 1000 as one, location_grams * 19 // 100 as three_location,
        location_grams * 11 // 100 as three_market from cells
)
select
    getvariable('month') + interval 1 month + interval 3 day as last_refresh_timestamp,
    place as location, 'v3.0.1' as model_version, getvariable('payer') as payer_account_id, product as product_code,
        region_id as region_code,
    account_id as usage_account_id, getvariable('month') as usage_period_start,
        getvariable('month') + interval 1 month as usage_period_end,
    (one + location_grams + three_location) / 1e6 as total_lbm_emissions_value, 'MTCO2e' as total_lbm_emissions_unit,
    (one + three_market) / 1e6 as total_mbm_emissions_value, 'MTCO2e' as total_mbm_emissions_unit,
    one / 1e6 as total_scope_1_emissions_value, 'MTCO2e' as total_scope_1_emissions_unit,
    location_grams / 1e6 as total_scope_2_lbm_emissions_value, 'MTCO2e' as total_scope_2_lbm_emissions_unit,
    0e0 as total_scope_2_mbm_emissions_value, 'MTCO2e' as total_scope_2_mbm_emissions_unit,
    three_location / 1e6 as total_scope_3_lbm_emissions_value, 'MTCO2e' as total_scope_3_lbm_emissions_unit,
    three_market / 1e6 as total_scope_3_mbm_emissions_value, 'MTCO2e' as total_scope_3_mbm_emissions_unit
from scopes
order by account_id, region_id, product

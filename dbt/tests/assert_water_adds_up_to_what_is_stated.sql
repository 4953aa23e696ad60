-- What the provider states to have withdrawn is the water of runs and the rest, to the last digit, where electricity is known.
{{ config(meta={'dagster': {'ref': {'name': 'fct_water_withdrawals'}}}) }}
with divided as (
    select
        payer_account_id,
        sub_account_id,
        usage_year,
        region_id,
        count(*) = count(withdrawal_m3) as is_divided,
        cast(sum(withdrawal_m3) as decimal(38, 9)) as withdrawal_m3
    from {{ ref('int_water_shares') }}
    group by all
)

select
    payer_account_id,
    sub_account_id,
    usage_year,
    region_id,
    stated.withdrawal_m3 as stated_m3,
    divided.withdrawal_m3 as divided_m3
from {{ ref('fct_water_withdrawals') }} as stated
full outer join divided using (payer_account_id, sub_account_id, usage_year, region_id)
where
    stated.withdrawal_m3 is null
    or divided.is_divided is null
    or divided.is_divided <> (stated.unknown_because is null)
    or (divided.is_divided and divided.withdrawal_m3 <> stated.withdrawal_m3)

-- What the engine itself needs for a month of AWS bills: all fourteen exact measures, summed by run, account, service, region
-- and day.
-- No rule of the ledger is applied and nothing is written: the least any warehouse with exact digits can do over this file.
-- Variable: files, a list of the landed Parquet parts. exact() is dbt/macros/exact.sql's double_to_decimal(x, 12), as a test
-- checks.

create or replace temp macro exact(x) as
    cast(cast(cast(cast(sign(x) * floor(abs(x) * case when abs(x) < 1e3 then 1e12 when abs(x) < 1e4 then 1e11 when
    abs(x) < 1e5 then 1e10 when abs(x) < 1e6 then 1e9 when abs(x) < 1e7 then 1e8 when abs(x) < 1e8 then 1e7 when
    abs(x) < 1e9 then 1e6 when abs(x) < 1e10 then 1e5 when abs(x) < 1e11 then 1e4 when abs(x) < 1e12 then 1e3 end +
    5e-1) as bigint) as decimal(19,0)) * cast(case when abs(x) < 1e3 then 1 when abs(x) < 1e4 then 10 when abs(x) <
    1e5 then 100 when abs(x) < 1e6 then 1000 when abs(x) < 1e7 then 10000 when abs(x) < 1e8 then 100000 when abs(x) <
    1e9 then 1000000 when abs(x) < 1e10 then 10000000 when abs(x) < 1e11 then 100000000 when abs(x) < 1e12 then
    1000000000 end as decimal(13,0)) as decimal(25,0)) * cast(0.000000000001 as decimal(12,12)) as decimal(38,12));

select
    resource_tags['user_training_run_id'] as run,
    line_item_usage_account_id as account,
    line_item_product_code as service,
    coalesce(product_region_code, product['region'], '') as region,
    cast(line_item_usage_start_date as date) as day,
    count(*) as lines,
    sum(exact(line_item_usage_amount)) as line_item_usage_amount,
    sum(exact(line_item_unblended_cost)) as line_item_unblended_cost,
    sum(exact(line_item_net_unblended_cost)) as line_item_net_unblended_cost,
    sum(exact(pricing_public_on_demand_cost)) as pricing_public_on_demand_cost,
    sum(exact(reservation_effective_cost)) as reservation_effective_cost,
    sum(exact(reservation_net_effective_cost)) as reservation_net_effective_cost,
    sum(exact(reservation_unused_amortized_upfront_fee_for_billing_period)) as reservation_unused_amortized_upfront_fee_for_billing_period,
    sum(exact(reservation_unused_recurring_fee)) as reservation_unused_recurring_fee,
    sum(exact(reservation_net_unused_amortized_upfront_fee_for_billing_period)) as reservation_net_unused_amortized_upfront_fee_for_billing_period,
    sum(exact(reservation_net_unused_recurring_fee)) as reservation_net_unused_recurring_fee,
    sum(exact(savings_plan_savings_plan_effective_cost)) as savings_plan_savings_plan_effective_cost,
    sum(exact(savings_plan_net_savings_plan_effective_cost)) as savings_plan_net_savings_plan_effective_cost,
    sum(exact(savings_plan_total_commitment_to_date)) as savings_plan_total_commitment_to_date,
    sum(exact(savings_plan_used_commitment)) as savings_plan_used_commitment
from read_parquet(getvariable('files'))
group by all

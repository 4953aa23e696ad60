-- The same kind of floor for Google's nested export: its six exact figures by run, project, service, region and day.
-- exact() is made by floor.sql; the last two columns are decimals already.
select
    list_extract(list_transform(list_filter(labels, one -> one.key = 'training_run_id'), one -> one.value), 1) as run,
    project.number as account,
    service.id as service,
    location.region as region,
    cast(usage_start_time as date) as day,
    count(*) as lines,
    sum(exact(cost)) as cost,
    sum(exact(list_sum(list_transform(credits, one -> one.amount)))) as credits,
    sum(exact(cost_at_list)) as cost_at_list,
    sum(exact(usage.amount_in_pricing_units)) as priced,
    sum(cast(cost_at_effective_price_default as decimal(38,12))) as cost_at_contract,
    sum(cast(cost_at_list_consumption_model as decimal(38,12))) as cost_at_model
from read_parquet(getvariable('files'))
group by all

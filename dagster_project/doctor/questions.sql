-- What doctor asks of `lines` and `held` (lines_and_held.sql) and of the ledger's own tables, each question by its name.

-- name: month_of_bill
select max(usage_month) from lines where source_name = $source

-- name: lines_of_bill
select count(*), count(*) filter (is_accelerator_type) from lines where source_name = $source

-- name: payers_without_total
select distinct payer_account_id from intermediate.int_charges
where source_name = $source and payer_account_id not in (select payer_account_id from raw.provider_totals)
order by 1

-- name: listed_skus
select count(distinct sku_id), max(listed_on) from staging.stg_gcp_prices__prices
where source_name = $source and listed_on = (
    select max(listed_on) from staging.stg_gcp_prices__prices where source_name = $source
)

-- name: unknown_price_skus
select sku_words, doubt, sku_count from intermediate.int_gcp_price_doubts where source_name = $source order by 3 desc, 1, 2

-- name: accelerator_cost
select
    billing_currency, count(*), coalesce(sum(cost), 0),
    coalesce(sum(met_cost) filter (rule = 'tag'), 0), coalesce(sum(met_cost) filter (rule <> 'tag'), 0),
    count(*) filter (rule = 'tag'), count(*) filter (rule <> 'tag')
from lines where source_name = $source and is_accelerator_type group by all order by 1

-- of each month that was read, the cost of accelerators and what of it meets a run; rows where nothing has a price
-- name: accelerator_cost_by_month
select
    strftime(usage_month, '%Y-%m'),
    case when sum(cost) > 0 then sum(cost) else count(*) end,
    case when sum(cost) > 0 then sum(met_cost) else count(rule) end
from lines_by_month
where source_name = $source and billing_currency = $currency and is_accelerator_type group by all order by 1

-- the resources of which the most is no run's, with that cost, and how many there are
-- name: cost_without_a_run
select machine, coalesce(sum(cost - met_cost), 0), count(*) over ()
from lines
where source_name = $source and billing_currency = $currency and is_accelerator_type
    and (rule is null or met_cost <> cost)
group by all order by 2 desc, 1 limit $most

-- name: tagged_lines
select count(*), count(*) filter (run_tag <> '') from lines where source_name = $source

-- rows of accelerators; of a bill without any, all
-- name: named_machines
select count(*), count(machine) from (
    select * from lines where source_name = $source
    qualify is_accelerator_type = bool_or(is_accelerator_type) over ()
)

-- name: granularity
select
    case
        when charge_period_end <= charge_period_start + interval 1 hour then 'hourly'
        when charge_period_end <= charge_period_start + interval 1 day then 'daily'
        else 'monthly'
    end,
    count(*)
from (
    select * from lines where source_name = $source
    qualify is_accelerator_type = bool_or(is_accelerator_type) over ()
)
group by all order by 2 desc, 1

-- name: billed_until
select max(charge_period_end) from lines where provider_name = $provider

-- runs that hold machines in a span of the bills: whether these name the run or bill all its machines, and which they do not
-- name: runs_in_bills
with billed as (
    select distinct training_run_id, held.resource_id, true as is_billed
    from held
    inner join intermediate.int_named_charges as charges
        on held.usage_month = charges.usage_month and held.resource_id = charges.held_resource_id
        and charge_period_start < held_to and charge_period_end > held_from
    where is_usage and charges.provider_name = $provider
),
named as (
    select distinct training_run_id, true as is_named from intermediate.int_line_attributions where usage_month = $first
)
select
    training_run_id, coalesce(bool_or(is_named), false) or bool_and(is_billed is not null),
    list(distinct resource_id order by resource_id) filter (is_billed is null)
from held left join billed using (training_run_id, resource_id) left join named using (training_run_id)
where coalesce(held.provider_name, $provider) = $provider and held_from < $last and held_to > $first
group by all order by 1

-- name: providers_of_accelerators
select distinct provider_name from lines where is_accelerator_type

-- name: samples
select nullif(host, ''), nullif(run_key, ''), reason, sum(sample_count)::bigint, sum(matched_sample_count)::bigint
from marts.fct_telemetry_matches where source_name = $source group by all order by 4 desc, 1, 2

-- by month the runs with energy, and those whose energy no sample, meter or figure of the organisation supports
-- name: energy_of_runs
select
    provider_name, strftime(usage_month, '%Y-%m'), count(*),
    coalesce(list(training_run_id order by training_run_id) filter (energy_basis = 'time_model' and telemetry_coverage_ratio = 0), [])
from marts.fct_training_run_energy inner join marts.dim_training_runs using (training_run_id)
where facility_energy_kwh is not null group by all order by 1, 2 desc

-- name: accelerator_types
select accelerator_type, count(distinct training_run_id), types.accelerator_type is not null
from intermediate.int_run_holdings left join seeds.accelerator_types as types using (accelerator_type)
group by all
union all
select accelerator_type, 0, false from intermediate.int_unknown_types
where accelerator_type not in (select distinct coalesce(accelerator_type, '') from intermediate.int_run_holdings)
order by 2 desc, 1

-- name: payers
select payer_account_id, bool_or(is_bill_landed), bool_or(is_carbon_published)
from raw.months where provider_name = $provider and payer_account_id <> '' group by all order by 1

-- why figures are null, in the words of the published summaries: of runs by month, and of a run what none of its months states
-- name: unknown_figures
with stated as (
    select provider_name, strftime(usage_month, '%Y-%m') as month, training_run_id, unnest(string_split(unknown_because, '; ')) as reason
    from marts.run_month_summary
    union all
    select provider_name, '', training_run_id, unnest(string_split(unknown_because, '; ')) from marts.run_summary
),
places as (
    select * from stated qualify month <> '' or not bool_or(month <> '') over (partition by training_run_id, reason)
)
select coalesce(provider_name, ''), reason, month, count(*) from places group by all order by 1, 2, 4 desc, 3

-- cost of accelerators that no run carries, and unused commitments; of what names no type the sum again
-- name: residuals
select
    provider_name, reason, billing_currency, strftime(usage_month, '%Y-%m'), sum(effective_cost),
    coalesce(sum(effective_cost) filter (accelerator_type = ''), 0)
from marts.fct_residual_costs
where cost_component = 'accelerator' or accelerator_type <> '' or reason = 'unused_commitment'
group by all having sum(effective_cost) <> 0 order by 1, 2, 3, 5 desc, 4

-- Of a run without an end: the chip-hours that it held until an instant, times the last effective rate of its accelerators.
-- Rates are of runs with one type and one region; a month whose bill is not published has costs of 0.
with asked as (
    select {{ argument('until', '(select max(finished_at) from ' ~ source('ops', 'builds') ~ ')') }} as until
),

costs as (
    select training_run_id, usage_month, billing_currency, sum(effective_cost) as effective_cost
    from {{ ref('fct_training_run_costs') }}
    where cost_component = 'accelerator' and status not in ('not_published', 'no_cell') and effective_cost is not null
    group by all
),

rates as (
    select
        dim.accelerator_type,
        dim.region_id,
        costs.usage_month,
        costs.billing_currency,
        grouping(dim.region_id) > 0 as is_of_any_region,
        count(distinct costs.training_run_id) as run_count,
        cast(sum(costs.effective_cost) as double) / cast(sum(energy.reserved_chip_hours) as double) as cost_per_chip_hour
    from costs
    inner join {{ ref('fct_training_run_energy') }} as energy using (training_run_id, usage_month)
    inner join {{ ref('dim_training_runs') }} as dim using (training_run_id)
    where not dim.is_multi_accelerator and not dim.is_multi_region and energy.reserved_chip_hours > 0
    group by grouping sets (
        (dim.accelerator_type, dim.region_id, costs.usage_month, costs.billing_currency),
        (dim.accelerator_type, costs.usage_month, costs.billing_currency)
    )
    having sum(costs.effective_cost) > 0
    qualify row_number() over (
        partition by dim.accelerator_type, dim.region_id, is_of_any_region
        order by costs.usage_month desc, run_count desc, costs.billing_currency
    ) = 1
),

held as (
    select
        dim.training_run_id,
        nullif(dim.accelerator_type, '') as accelerator_type,
        nullif(dim.region_id, '') as region_id,
        dim.chip_count,
        asked.until,
        cast(sum(greatest(epoch(coalesce(attempts.ended_at, asked.until) - attempts.started_at), 0)) as decimal(38, 6))
        / 3600 as hours
    from {{ ref('dim_training_runs') }} as dim
    cross join asked
    left join {{ ref('fct_run_attempts') }} as attempts on dim.training_run_id = attempts.training_run_id
    where dim.ended_at is null and dim.started_at is not null
    group by all
)

select
    held.training_run_id,
    true as is_estimate,
    held.until,
    held.hours,
    cast(held.hours * held.chip_count * rates.cost_per_chip_hour as decimal(38, 2)) as value,
    rates.billing_currency as unit,
    cast(held.hours * held.chip_count as decimal(38, 3)) as chip_hours,
    cast(rates.cost_per_chip_hour as decimal(38, 4)) as cost_per_chip_hour,
    rates.usage_month as rate_month,
    rates.run_count as rate_runs,
    held.region_id as rate_region,
    case
        when held.hours is null then 'no record has an attempt of it'
        when held.accelerator_type is null or held.chip_count is null
            then 'the record does not state how many chips of which type it holds'
        when rates.usage_month is null
            then 'no month of the ledger has a cost of ' || held.accelerator_type || coalesce(' in ' || held.region_id, '')
    end as unknown_because
from held
left join rates
    on
        held.accelerator_type = rates.accelerator_type
        and held.chip_count is not null
        and rates.is_of_any_region = (held.region_id is null)
        and (rates.is_of_any_region or held.region_id = rates.region_id)

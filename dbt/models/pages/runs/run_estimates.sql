-- Of a run without an end: the chip-hours that it held until an instant, times the last effective rate of its accelerators.
-- Rates are of runs with one type and one region; a month whose bill is not published has costs of 0.
with costs as (
    select training_run_id, usage_month, billing_currency, sum(effective_cost) as effective_cost
    from {{ ref('fct_training_run_costs') }}
    where cost_component = 'accelerator' and status not in ('not_published', 'no_cell')
    group by all
),

rates as (
    select
        accelerator_type, region_id, usage_month, billing_currency,
        grouping(region_id) > 0 as is_of_any_region,
        count(distinct training_run_id) as run_count,
        cast(sum(effective_cost) as double) / cast(sum(reserved_chip_hours) as double) as cost_per_chip_hour
    from costs
    inner join {{ ref('fct_training_run_energy') }} using (training_run_id, usage_month)
    inner join {{ ref('dim_training_runs') }} using (training_run_id)
    where not is_multi_accelerator and not is_multi_region and reserved_chip_hours > 0
    group by grouping sets (
        (accelerator_type, region_id, usage_month, billing_currency), (accelerator_type, usage_month, billing_currency)
    )
    having sum(effective_cost) > 0
),

newest_rates as (
    select * from rates
    qualify row_number() over (
        partition by accelerator_type, region_id, is_of_any_region
        order by usage_month desc, run_count desc, billing_currency
    ) = 1
),

held as (
    select
        training_run_id,
        until,
        cast(sum(greatest(epoch(coalesce(attempts.ended_at, until) - attempts.started_at), 0)) as decimal(38, 6)) / 3600 as hours
    from {{ ref('dim_training_runs') }} as dim
    cross join (
        select {{ argument('until', '(select max(finished_at) from ' ~ source('ops', 'builds') ~ ')') }} as until
    ) as asked
    left join {{ ref('fct_run_attempts') }} as attempts using (training_run_id)
    where dim.ended_at is null and dim.started_at is not null
    group by all
),

runs as (
    select
        training_run_id, until, hours, nullif(region_id, '') as region_id, nullif(accelerator_type, '') as accelerator_type,
        case when accelerator_type <> '' then hours * chip_count end as chip_hours
    from held
    inner join {{ ref('dim_training_runs') }} using (training_run_id)
)

select
    training_run_id,
    true as is_estimate,
    until,
    hours,
    cast(chip_hours * cost_per_chip_hour as decimal(38, 2)) as value,
    billing_currency as unit,
    cast(chip_hours as decimal(38, 3)) as chip_hours,
    cast(cost_per_chip_hour as decimal(38, 4)) as cost_per_chip_hour,
    usage_month as rate_month,
    run_count as rate_runs,
    runs.region_id as rate_region,
    case
        when hours is null then 'no record has an attempt of it'
        when chip_hours is null then 'the record does not state how many chips of which type it holds'
        when cost_per_chip_hour is null
            then 'no month of the ledger has a cost of ' || runs.accelerator_type || coalesce(' in ' || runs.region_id, '')
    end as unknown_because
from runs
left join newest_rates as rates
    on
        runs.accelerator_type = rates.accelerator_type
        and is_of_any_region = (runs.region_id is null)
        and (is_of_any_region or runs.region_id = rates.region_id)

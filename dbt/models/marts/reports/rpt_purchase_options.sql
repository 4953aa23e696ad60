{{ config(meta={'empty_without': ['int_runs_to_target where region_id is not null']}) }}
{%- set offers = {
    'AWS': ['on_demand', 'spot', 'commitment_1y', 'commitment_3y', 'capacity_block', 'sagemaker'],
    'Google Cloud': ['on_demand', 'spot', 'commitment_1y', 'commitment_3y', 'calendar'],
} %}
-- what each provider sells; SageMaker is the instance on demand and the most that claim C8 adds to it
with options as (
    {%- for provider, ways in offers.items() %}{% set is_last = loop.last %}{% for way in ways %}
    select
        '{{ provider }}' as provider_name,
        '{{ way }}' as purchase_option,
        '{{ 'on_demand' if way == 'sagemaker' else way }}' as priced_as
    {{ 'union all' if not (is_last and loop.last) }}
    {%- endfor %}{% endfor %}
),

surcharges as (
    select 1 + cast(claimed_value_high as double) as factor from {{ ref('dim_vendor_claims') }}
    where claim_id = 'C8'
),

target_runs as (
    select * from {{ ref('int_runs_to_target') }}
    where region_id is not null
),

run_hours as (
    select
        training_run_id,
        case when count(*) = count(reserved_chip_hours) then cast(sum(reserved_chip_hours) as decimal(24, 6)) end as chip_hours
    from {{ ref('fct_training_run_energy') }}
    group by all
),

run_currencies as (
    select training_run_id, min(billing_currency) as billing_currency from {{ ref('fct_training_run_costs') }}
    group by all
),

ranked_runs as (
    select
        target_runs.*,
        run_currencies.billing_currency,
        run_hours.chip_hours,
        count(*) over (
            partition by target_runs.workload_key, target_runs.accelerator_type, target_runs.region_id
        ) as run_count,
        count(run_hours.chip_hours) over (
            partition by target_runs.workload_key, target_runs.accelerator_type, target_runs.region_id
        ) as known_count,
        row_number() over (
            partition by target_runs.workload_key, target_runs.accelerator_type, target_runs.region_id
            order by run_hours.chip_hours, training_run_id
        ) as place
    from target_runs
    inner join run_currencies using (training_run_id)
    left join run_hours using (training_run_id)
),

-- the median is exact: the middle run, or half of the two in the middle; unknown where a run's hours are
workloads as (
    select
        provider_name,
        workload_key,
        accelerator_type,
        region_id,
        min(billing_currency) as billing_currency,
        case
            when max(known_count) < max(run_count) then null
            when max(run_count) % 2 = 1 then sum(case when 2 * place = run_count + 1 then chip_hours end)
            else cast(sum(case when 2 * place in (run_count, run_count + 2) then chip_hours end) * 0.5 as decimal(28, 7))
        end as chip_hours
    from ranked_runs
    group by all
),

-- of several quotes: the organisation's own first and of them the latest, then the provider's list,
-- then the surer, then the newer, then the dearer
prices as (
    select
        *,
        row_number() over (
            partition by accelerator_type, coalesce(region_id, ''), purchase_option
            order by
                case confidence when 'user' then 1 else 2 end,
                case confidence when 'user' then valid_from end desc nulls last,
                is_quoted_only,
                case confidence when 'high' then 1 when 'medium' then 2 else 3 end,
                source_date desc,
                price_per_unit desc,
                price_id
        ) as choice
    from {{ ref('dim_prices') }}
    where purchase_option is not null
),

best_prices as (
    select
        accelerator_type, coalesce(region_id, '') as region_id, purchase_option, price_per_unit, unit, currency, source_date,
        source
        || coalesce('; ' || note, '')
        || case when region_id is null and coalesce(note, '') not like '%region%' then '; region not stated' else '' end
        || case when is_quoted_only then '; quoted, not from the list of the provider' else '' end as price_source
    from prices
    where choice = 1
),

placeless_prices as (
    select * from best_prices
    where region_id = ''
),

priced as (
    select
        workloads.workload_key,
        workloads.accelerator_type,
        workloads.region_id,
        options.purchase_option,
        options.purchase_option = 'sagemaker' as is_surcharged,
        workloads.billing_currency,
        workloads.chip_hours,
        types.chips_per_node,
        -- a quote for the region; else one that names no region, which states it
        coalesce(here.price_per_unit, anywhere.price_per_unit) as price_per_unit,
        coalesce(here.unit, anywhere.unit) as unit,
        coalesce(here.currency, anywhere.currency) as currency,
        coalesce(here.price_source, anywhere.price_source) as price_source,
        coalesce(here.source_date, anywhere.source_date) as price_date
    from workloads
    inner join options using (provider_name)
    left join {{ ref('dim_accelerators') }} as types using (accelerator_type)
    left join best_prices as here
        on
            workloads.accelerator_type = here.accelerator_type
            and workloads.region_id = here.region_id
            and options.priced_as = here.purchase_option
    left join placeless_prices as anywhere
        on workloads.accelerator_type = anywhere.accelerator_type and options.priced_as = anywhere.purchase_option
)

select
    workload_key,
    accelerator_type,
    region_id,
    purchase_option,
    coalesce(currency, billing_currency) as billing_currency,
    -- to a millionth; chips_per_node only where the price is of an instance
    floor(
        cast(cast(chip_hours as decimal(24, 6)) * cast(price_per_unit as decimal(14, 6)) as double)
        / case unit when 'chip-hour' then 1 else chips_per_node end
        * case when is_surcharged then (select max(surcharges.factor) from surcharges) else 1e0 end
        * 1e6 + 5e-1
    ) / 1e6 as cost_per_run,
    case
        when price_source is null then 'no price is known'
        else price_source || case when is_surcharged then '; with the most of claim C8 added' else '' end
    end as price_source,
    price_date
from priced

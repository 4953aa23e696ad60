{{ config(materialized='by_month', meta={'empty_without': ['int_carbon_period_rows']}) }}

with charges as (
    select
        *,
        source_name || '|' || source_object || '|' || cast(row_number as string) || '|' || cast(usage_month as string)
            as charge_id
    from {{ ref('int_carbon_period_rows') }}
    where is_book and {{ in_build_months() }}
),

known_months as (
    select distinct usage_month from {{ source('raw', 'months') }}
),

-- of all months, whichever are built: units that share a quarter or a year are built together
billed as (
    select
        provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month,
        cast(greatest(sum(signed_w), 0) as decimal(38, 0)) as w
    from {{ ref('int_carbon_weights') }}
    group by all
),

months_of_charges as (
    select
        charges.charge_id,
        known_months.usage_month,
        cast(day(last_day(known_months.usage_month)) as decimal(38, 0)) as day_count,
        case when charges.is_global then cast(0 as decimal(38, 0)) else coalesce(billed.w, cast(0 as decimal(38, 0))) end as w
    from charges
    inner join known_months
        on known_months.usage_month >= charges.period_start and known_months.usage_month < charges.period_end
    left join billed
        on
            charges.provider_name = billed.provider_name
            and charges.payer_account_id = billed.payer_account_id
            and charges.sub_account_id = billed.sub_account_id
            and charges.service_code = billed.service_code
            and charges.region_id = billed.region_id
            and known_months.usage_month = billed.usage_month
),

totals as (
    select charge_id, cast(sum(w) as decimal(38, 0)) as whole_w
    from months_of_charges
    group by all
),

-- what nothing was billed beside in any month has no key, and lies in its months by their days
parts as (
    select
        charge_id,
        cast(months_of_charges.usage_month as string) as part_id,
        case when totals.whole_w > 0 then months_of_charges.w else months_of_charges.day_count end as w
    from months_of_charges
    inner join totals using (charge_id)
),

split as (
    {{ exact_split('charges', 'parts', mass_names(), 9) }}
)

select
    {{ cell_of('charges') }},
    charges.source_object,
    charges.row_number,
    charges.provider_model_version,
    charges.is_elected,
    charges.is_global,
    charges.is_negative,
    {{ masses('split') }}
from split
inner join charges using (charge_id)
where split.part_id = cast(charges.usage_month as string) and split.w > 0

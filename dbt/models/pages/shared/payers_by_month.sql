-- a source that has delivered nothing so far is a payer that is not known yet
with books as (
    select distinct
        provider_name,
        payer_account_id,
        source_name,
        usage_month,
        measure like 'provider_%' as is_carbon
    from {{ ref('fct_reconciliation') }}
    where method = 'conservation' and (measure = 'billed_cost' or (measure like 'provider_%' and provider_total is not null))
),

-- every payer of a source that is configured, and every payer of this or the last quarter
payers as (
    select
        quarter,
        provider_name,
        payer_account_id,
        '' as source_name,
        true as needs_bill,
        true as needs_carbon
    from books
    inner join {{ ref('report_quarters') }} as quarters
        on
            usage_month < quarters.quarter_end
            and (
                usage_month >= quarters.prior_start
                or source_name in (select source_name from {{ source('ops', 'listed_objects') }})
            )
    group by all

    union all

    select
        quarters.quarter,
        case when listed.kind like 'gcp%' then 'Google Cloud' else 'AWS' end as provider_name,
        '' as payer_account_id,
        listed.source_name,
        listed.kind not like '%carbon%' as needs_bill,
        listed.kind like '%carbon%' as needs_carbon
    from {{ source('ops', 'listed_objects') }} as listed
    cross join {{ ref('report_quarters') }} as quarters
    where
        listed.kind in ('aws_cur', 'aws_focus', 'aws_carbon', 'gcp_billing', 'gcp_focus', 'gcp_carbon')
        and listed.source_name not in (select source_name from {{ ref('fct_reconciliation') }})
        and listed.source_name not in (
            select source_name from {{ source('ops', 'dim_deliveries') }}
            where is_elected
        )
),

carbon_sources as (
    select distinct
        source_name,
        provider_name,
        payer_account_id
    from books
    where is_carbon
),

-- a month whose carbon export was delivered empty is published: no emissions is an answer
published_months as (
    select
        provider_name,
        payer_account_id,
        usage_month,
        is_carbon
    from books

    union

    select
        carbon_sources.provider_name,
        carbon_sources.payer_account_id,
        cast(left(deliveries.partition, 7) || '-01' as date) as usage_month,
        true as is_carbon
    from {{ source('ops', 'dim_deliveries') }} as deliveries
    inner join carbon_sources using (source_name)
    where
        deliveries.is_elected
        and regexp_matches(deliveries.partition, '^[0-9]{4}-[0-9]{2}([^0-9]|$)')
        -- what is of a quarter or a year may count in none of its months
        and not regexp_matches(deliveries.partition, '[.][.]')
),

months as (
    select
        quarter,
        unnest([month_1, month_2, month_3]) as usage_month
    from {{ ref('report_quarters') }}
)

select
    quarter,
    provider_name,
    payer_account_id,
    source_name,
    usage_month,
    bool_or(not needs_bill or is_carbon is false) as has_bill,
    bool_or(not needs_carbon or is_carbon is true) as has_carbon
from payers
inner join months using (quarter)
left join published_months using (provider_name, payer_account_id, usage_month)
group by all

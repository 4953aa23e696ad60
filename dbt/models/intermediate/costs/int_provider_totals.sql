{{ config(meta={'empty_without': ['stg_provider_totals__totals']}) }}
{%- set total = 'provider_name, payer_account_id, usage_month, billing_currency' %}

-- of two files that state the same total the one published last counts
with stated as (
    select *, case when charge_type = '' then stated_cost end as whole_cost
    from {{ ref('stg_provider_totals__totals') }}
    qualify row_number() over (
        partition by {{ total }}, charge_type order by published_at desc, source_name, source_object, row_number desc
    ) = 1
),

-- Cost Explorer shows each charge type before discounts, and discounts as a type of their own; the bill may have net columns
billed as (
    select
        lines.provider_name,
        lines.payer_account_id,
        lines.usage_month,
        lines.billing_currency,
        lines.line_item_type as charge_type,
        cast(sum(lines.gross_unblended_cost) as decimal(38, 12)) as gross_cost,
        cast(sum({{ after_net_discounts('lines', 'billed_cost') }}) as decimal(38, 12)) as billed_cost
    from {{ ref('int_aws_line_groups') }} as lines
    {{ join_net_discounts('lines') }}
    where lines.is_book and lines.usage_month in (select stated.usage_month from stated)
    group by all

    union all

    -- an invoice of Google Cloud is of the rows that name it, whenever they were used
    select
        'Google Cloud' as provider_name,
        payer_account_id,
        invoice_month as usage_month,
        billing_currency,
        '' as charge_type,
        cast(sum(invoiced_cost) as decimal(38, 12)) as gross_cost,
        cast(sum(invoiced_cost) as decimal(38, 12)) as billed_cost
    from {{ ref('int_gcp_invoice_months') }}
    where invoice_month is not null
    group by all
),

-- covered use and its negation are billed at 0 each; what the two leave is on the invoice as well
billed_months as (
    select {{ total }}, {{ sums(['billed_cost'], 12) }}
    from (
        select {{ total }}, billed_cost from billed
        union all
        select {{ total }}, billed_cost from {{ ref('int_saving_plan_roundings') }}
    ) as billed_parts
    group by all
),

typed as (
    select * from stated
    where charge_type <> ''
),

typed_months as (
    select distinct {{ total }} from typed
),

-- a provider names some charge types in two ways, as Upfront and Fee: those that one of the two sides lacks are compared together
known as (
    select {{ total }}, charge_type, true as is_known
    from typed
    inner join billed using ({{ total }}, charge_type)
),

sides as (
    select {{ total }}, charge_type, stated_cost, cast(0 as decimal(38, 12)) as billed_cost
    from typed

    union all

    select {{ total }}, billed.charge_type, cast(0 as decimal(38, 12)) as stated_cost, billed.gross_cost as billed_cost
    from billed
    inner join typed_months using ({{ total }})
),

totals as (
    select
        {{ total }},
        case when known.is_known then charge_type else '~other' end as charge_type,
        cast(sum(sides.stated_cost) as decimal(38, 12)) as stated_cost,
        -- of a currency in which nothing is billed the bill is unknown, and not 0
        case when max(billed_months.billed_cost) is not null then cast(sum(sides.billed_cost) as decimal(38, 12)) end
            as billed_cost
    from sides
    left join known using ({{ total }}, charge_type)
    left join billed_months using ({{ total }})
    group by {{ total }}, case when known.is_known then charge_type else '~other' end

    union all

    -- the whole month: as it is stated, else as its charge types add up
    select
        {{ total }},
        '' as charge_type,
        cast(coalesce(max(stated.whole_cost), sum(stated.stated_cost)) as decimal(38, 12)) as stated_cost,
        max(billed_months.billed_cost) as billed_cost
    from stated
    left join billed_months using ({{ total }})
    group by {{ total }}
),

sources as (
    select {{ total }}, min(source_name) as source_name
    from stated
    group by all
)

select
    sources.source_name,
    {{ total }},
    totals.charge_type,
    totals.stated_cost,
    totals.billed_cost,
    {{ exact_sum(['totals.stated_cost', '-totals.billed_cost'], 12) }} as difference,
    -- an invoice has cents, and an answer of Cost Explorer ten decimals of each of many parts
    coalesce(
        abs(cast({{ exact_sum(['totals.stated_cost', '-totals.billed_cost'], 12) }} as double))
        <= greatest(cast(0.01 as double), abs(cast(totals.stated_cost as double)) / 1000000), false
    ) as is_met,
    coalesce(months.is_bill_final, false) as is_final
from totals
inner join sources using ({{ total }})
left join {{ ref('int_bill_months') }} as months using (provider_name, payer_account_id, usage_month)

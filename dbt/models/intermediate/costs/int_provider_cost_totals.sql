{{ config(materialized='by_month') }}

with aws_costs as (
    select
        lines.source_name,
        lines.provider_name,
        lines.payer_account_id,
        lines.sub_account_id,
        lines.service_code,
        {{ aws_region_of_line('lines', 'prefixes') }} as region_id,
        lines.usage_month,
        lines.billing_currency,
        lines.is_book,
        lines.billed_cost,
        lines.billed_cost as effective_base_cost,
        case
            when
                lines.line_item_type in ('Usage', 'DiscountedUsage', 'SavingsPlanCoveredUsage')
                and not lines.is_support
                and not lines.is_block_fee
                then lines.public_on_demand_cost
            else cast(0 as decimal(38, 12))
        end as list_cost,
        cast(null as decimal(38, 12)) as contracted_cost
    from {{ ref('stg_aws_cur__line_items') }} as lines
    left join {{ ref('aws_region_prefixes') }} as prefixes on lines.usage_type_prefix = prefixes.prefix
),

gcp_credits as (
    select
        source_name,
        source_object,
        row_number,
        sum(credit_amount) as credit_amount,
        sum(case when is_price then credit_amount else 0 end) as price_credit
    from {{ ref('stg_gcp_billing__credits') }}
    group by source_name, source_object, row_number
),

gcp_costs as (
    select
        {{ cell_of('lines') }},
        lines.billing_currency,
        lines.is_book,
        lines.cost + coalesce(gcp_credits.credit_amount, 0) as billed_cost,
        -- promotions are in the bill, never in what a run effectively cost
        lines.cost + coalesce(gcp_credits.price_credit, 0) as effective_base_cost,
        case when {{ gcp_is_usage('lines', 'skus') }} then lines.cost_at_list else cast(0 as decimal(38, 12)) end as list_cost,
        case
            when {{ gcp_is_usage('lines', 'skus') }} then coalesce(lines.cost_at_contract, lines.cost)
            else cast(0 as decimal(38, 12))
        end as contracted_cost
    from {{ ref('stg_gcp_billing__lines') }} as lines
    left join {{ ref('int_gcp_skus') }} as skus using (service_code, service_description, sku_description)
    left join gcp_credits using (source_name, source_object, row_number)
),

costs as (
    select {{ cell() }}, billing_currency, is_book, billed_cost, effective_base_cost, list_cost, contracted_cost from aws_costs
    union all
    select {{ cell() }}, billing_currency, is_book, billed_cost, effective_base_cost, list_cost, contracted_cost from gcp_costs
)

select
    {{ cell() }},
    billing_currency,
    is_book,
    cast(sum(billed_cost) as decimal(38, 12)) as billed_cost,
    -- what effective cost starts from before money moves into and out of commitments
    cast(sum(effective_base_cost) as decimal(38, 12)) as effective_base_cost,
    {{ whole_sum('list_cost', 'decimal(38, 12)') }} as list_cost,
    {{ whole_sum('contracted_cost', 'decimal(38, 12)') }} as contracted_cost,
    count(*) as line_count
from costs
group by {{ cell() }}, billing_currency, is_book

union all

select
    {{ cell() }},
    billing_currency,
    true as is_book,
    billed_cost,
    billed_cost as effective_base_cost,
    cast(0 as decimal(38, 12)) as list_cost,
    cast(null as decimal(38, 12)) as contracted_cost,
    0 as line_count
from {{ ref('int_saving_plan_roundings') }}

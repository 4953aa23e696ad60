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
        {{ after_net_discounts('lines', 'billed_cost') }} as billed_cost,
        case when lines.is_pod then cast(0 as decimal(38, 12)) else {{ after_net_discounts('lines', 'billed_cost') }} end
            as effective_base_cost,
        case when {{ aws_is_usage('lines') }} then lines.public_on_demand_cost else cast(0 as decimal(38, 12)) end as list_cost,
        case
            when {{ aws_is_usage('lines') }} or lines.contracted_cost is null then lines.contracted_cost
            else cast(0 as decimal(38, 12))
        end as contracted_cost,
        lines.line_count
    from {{ ref('int_aws_line_groups') }} as lines
    left join {{ ref('aws_region_prefixes') }} as prefixes on lines.usage_type_prefix = prefixes.prefix
    {{ join_net_discounts('lines') }}
),

gcp_costs as (
    select
        {{ cell_of('lines') }},
        lines.billing_currency,
        lines.is_book,
        {{ exact_sum(['lines.cost', 'lines.price_credit', 'lines.promotion_credit'], 12) }} as billed_cost,
        -- promotions are in the bill, never in what a run effectively cost
        {{ exact_sum(['lines.cost', 'lines.price_credit'], 12) }} as effective_base_cost,
        case when {{ gcp_is_usage('lines', 'skus') }} then lines.cost_at_list else cast(0 as decimal(38, 12)) end as list_cost,
        case
            when {{ gcp_is_usage('lines', 'skus') }} then coalesce(lines.cost_at_contract, lines.cost)
            else cast(0 as decimal(38, 12))
        end as contracted_cost,
        lines.line_count
    from {{ ref('int_gcp_project_lines') }} as lines
    left join {{ ref('int_gcp_skus') }} as skus using (service_code, service_description, sku_description)
),

costs as (
    select * from aws_costs
    union all
    select * from gcp_costs
)

select
    {{ cell() }},
    billing_currency,
    is_book,
    -- effective_base_cost: what effective cost starts from before money moves into and out of commitments
    {{ sums(['billed_cost', 'effective_base_cost'], 12) }},
    {{ whole_sums(['list_cost', 'contracted_cost'], 12) }},
    sum(line_count) as line_count
from costs
group by all

union all

select
    {{ cell() }},
    billing_currency,
    true as is_book,
    billed_cost,
    cast(0 as decimal(38, 12)) as effective_base_cost,
    cast(0 as decimal(38, 12)) as list_cost,
    cast(null as decimal(38, 12)) as contracted_cost,
    0 as line_count
from {{ ref('int_saving_plan_roundings') }}

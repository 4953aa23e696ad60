-- What each provider cell adds up to in the landed bill itself, straight from staging, past every rule of attribution.
-- Conservation is judged against these sums, book and other sources alike.
{{ config(materialized='incremental', incremental_strategy='append', pre_hook="{{ delete_build_months() }}") }}

with lines as (
    select * from {{ ref('stg_aws_cur__line_items') }}
    where {{ in_build_months() }}
),

placed as (
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
        case
            when lines.line_item_type in ('Usage', 'DiscountedUsage', 'SavingsPlanCoveredUsage') and not lines.is_support and not lines.is_block_fee
                then lines.public_on_demand_cost
            else cast(0 as decimal(38, 12))
        end as list_cost
    from lines
    left join {{ ref('aws_region_prefixes') }} as prefixes on lines.usage_type_prefix = prefixes.prefix
)

select
    {{ cell() }},
    billing_currency,
    is_book,
    cast(sum(billed_cost) as decimal(38, 12)) as billed_cost,
    {{ whole_sum('list_cost', 'decimal(38, 12)') }} as list_cost,
    count(*) as line_count
from placed
group by {{ cell() }}, billing_currency, is_book

union all

select
    {{ cell() }},
    billing_currency,
    true as is_book,
    billed_cost,
    cast(0 as decimal(38, 12)) as list_cost,
    0 as line_count
from {{ ref('int_saving_plan_roundings') }}
where {{ in_build_months() }}

{{ config(materialized='view') }}

with charges as (
    select
        lines.*,
        shares.line_id is not null and lines.is_usage as is_block_hour,
        shares.effective_cost as block_cost,
        {{ exact_sum(['lines.effective_cost', 'coalesce(shares.effective_cost, 0)'], 12) }} as charged_cost,
        -- what an hour outside a block costs on demand
        prices.price_per_hour
    from {{ ref('int_aws_lines') }} as lines
    left join {{ ref('int_aws_block_shares') }} as shares on lines.line_id = shares.line_id
    left join {{ ref('int_on_demand_prices') }} as prices
        on
            prices.provider_name = 'AWS'
            -- one equality: a condition on the left side alone would make this a comparison of every pair
            and case when lines.service_code = 'AmazonEC2' then lines.instance_type end = prices.accelerator_type
            and lines.region_id = prices.region_id
            and lines.billing_currency = prices.billing_currency
            and cast(lines.charge_period_start as date) >= prices.price_from
            and cast(lines.charge_period_start as date) < prices.price_to
    -- a negation cancels its covered usage; what of the two does not cancel is int_saving_plan_roundings
    where lines.line_item_type <> 'SavingsPlanNegation'
)

select
    line_id,
    {{ cell() }}, delivery_content_hash, charge_period_start, charge_period_end, billing_currency, resource_id,
    instance_type,
    -- used hours of a reservation are rows of their own: with the tag of the row for all of its time a run would have them twice
    case when not {{ aws_is_reserved_time('usage_type') }} then run_tag end as run_tag,
    has_invoice,
    is_usage, is_discount, is_accelerator_type, is_block_hour, billed_us, cost_component, billed_cost,
    charged_cost as effective_cost,
    -- a block hour has no list price
    case when not is_block_hour then list_cost end as list_cost,
    case
        when not is_block_hour and list_cost is not null then list_cost
        when is_usage and cost_component = 'accelerator' and billed_us is not null
            then {{ priced_hours('usage_amount', 12, 'price_per_hour') }}
    end as on_demand_list_cost,
    case when not is_block_hour then contracted_cost end as contracted_cost,
    case
        when not is_usage then cast(0 as decimal(38, 12))
        when is_block_hour or list_cost is null then charged_cost
        else list_cost
    end as weight,
    -- a block hour's weight is its share of the fee by rule; a line without a list price only borrows its effective cost
    is_usage and list_cost is null and not is_block_hour as is_weight_borrowed,
    case when cost_component = 'accelerator' or commitment_kind is not null then accelerator_name else '' end as accelerator_type,
    line_count,
    -- HyperPod bills the machines of one type of a cluster together
    case
        when usage_type like '%Cluster:ml.%' and resource_id like '%:cluster/%'
            then {{ replace_all('resource_id', '^.*:cluster/', 'cluster/') }} || '/ml.' || instance_type
    end as cluster_name,
    case
        when usage_type like '%Cluster:ml.%' and resource_id like '%:cluster/%'
            then split_part(resource_id, ':', 5) || '||' || {{ replace_all('resource_id', '^.*:cluster/', '') }}
    end as cluster_place,
    coalesce(fixed_reason, case when is_unused_reservation and is_usage then 'unused_commitment' end) as fixed_reason,
    -- what of the effective cost is of the fee of a block, and what the row states itself
    block_cost,
    effective_cost as stated_cost,
    unblended_cost = gross_unblended_cost as is_before_discounts,
    is_single and {{ aws_is_instance_time('usage_type') }} as is_instance_time
from charges

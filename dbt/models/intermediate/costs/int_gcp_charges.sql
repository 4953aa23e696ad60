{{ config(materialized='view') }}
{%- set shared %}
    cast(null as bigint) as part_number, cast(null as decimal(38, 9)) as chip_share, {{ cell() }}, delivery_content_hash, charge_period_start, charge_period_end, billing_currency, resource_id, other_resource_id,
    job_id, machine_place, coalesce(nullif(instance_type, ''), gpu_type) as instance_type, run_tag, has_invoice, line_count, is_accelerator_type, fixed_reason, {{ cluster_columns() | join(', ') }}{% endset %}

with shares as (
    select line_id, cast(sum(effective_cost) as decimal(38, 12)) as effective_cost
    from {{ ref('int_gcp_commitment_shares') }}
    group by all
),

lines as (
    select
        lines.*,
        -- a fee leaves its row for the usage it covers; what was not used comes back to it as a share
        {{ exact_sum(
            ['case when lines.is_amortised_fee then 0 else lines.billed_cost end', 'coalesce(shares.effective_cost, 0)'], 12
        ) }}
            as effective_cost,
        prices.price_per_hour
    from {{ ref('int_gcp_lines') }} as lines
    left join shares using (line_id)
    left join {{ ref('int_on_demand_prices') }} as prices
        on
            prices.provider_name = 'Google Cloud'
            and lines.accelerator_name = prices.accelerator_type
            and lines.region_id = prices.region_id
            and lines.billing_currency = prices.billing_currency
            and cast(lines.charge_period_start as date) >= prices.price_from
            and cast(lines.charge_period_start as date) < prices.price_to
)

select
    line_id,
    line_id as attribution_line_id,
    line_id as bill_line_id,
    {{ shared }},
    is_usage as is_part_of_usage,
    is_usage,
    cost_component,
    billed_cost,
    effective_cost,
    list_cost,
    -- the list of what is sold otherwise, Spot above all, is a list of its own
    case
        when not is_usage then cast(0 as decimal(38, 12))
        when purchase_mode = 'on_demand' and list_cost is not null then list_cost
        when cost_component = 'accelerator' and pricing_unit in ('', 'h', 'hour', 'hours')
            then {{ priced_hours(
                exact_multiple('priced_usage', "case when instance_type in ('v2', 'v3', 'v4') then 4 else 1 end", 9), 9, 'price_per_hour'
            ) }}
    end as on_demand_list_cost,
    contracted_cost,
    case when not is_usage then cast(0 as decimal(38, 12)) else coalesce(list_cost, effective_cost) end as weight,
    is_usage and list_cost is null as is_weight_borrowed,
    case when cost_component = 'accelerator' or is_commitment_fee then accelerator_name else '' end as accelerator_type
from lines

union all

select
    line_id || '|promotion' as line_id,
    line_id as attribution_line_id,
    line_id || '|promotion' as bill_line_id,
    {{ shared }},
    is_usage as is_part_of_usage,
    false as is_usage,
    'credit' as cost_component,
    promotion_cost as billed_cost
    {%- for measure in ['effective_cost', 'list_cost', 'on_demand_list_cost', 'contracted_cost', 'weight'] %},
    cast(0 as decimal(38, 12)) as {{ measure }}
    {%- endfor %},
    false as is_weight_borrowed,
    '' as accelerator_type
from lines
where has_promotion

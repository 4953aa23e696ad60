{{ config(materialized='by_month') }}

with unpriced as (
    select
        lines.usage_month,
        lines.line_id,
        lines.sub_account_id,
        cast(lines.charge_period_start as date) as used_on,
        lines.instance_type as accelerator_type,
        {{ from_units(int_div(
            'cast(10 * coalesce(lines.billed_us, ' ~ microseconds('lines.charge_period_start', 'lines.charge_period_end')
            ~ ') as decimal(38, 0))',
            'cast(36 as decimal(38, 0))'
        ), 9) }} as hours,
        lines.list_cost
    from {{ ref('int_aws_lines') }} as lines
    -- an hour of a block has its share of the fee
    left join {{ ref('int_aws_block_shares') }} as shares
        on lines.usage_month = shares.usage_month and lines.line_id = shares.line_id
    where lines.is_unpriced and shares.line_id is null

    union all

    select
        usage_month,
        line_id,
        sub_account_id,
        cast(charge_period_start as date) as used_on,
        accelerator_name as accelerator_type,
        case when pricing_unit in ('', 'h', 'hour', 'hours') then priced_usage end as hours,
        list_cost
    from {{ ref('int_gcp_lines') }}
    where is_unpriced
)

select
    unpriced.usage_month,
    unpriced.line_id,
    unpriced.accelerator_type,
    unpriced.hours,
    unpriced.list_cost
from unpriced
left join {{ ref('int_grants') }} as grants
    on
        unpriced.sub_account_id = grants.sub_account_id
        and unpriced.used_on >= grants.granted_from
        and unpriced.used_on < grants.granted_to
where grants.sub_account_id is null

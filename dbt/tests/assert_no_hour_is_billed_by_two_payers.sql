-- One machine's hour in the bills of two payers is the same money twice, as in a pro forma bill beside the one that is paid; two
-- parts of it, as of an account that moves, are not. Only accounts that two payers bill in one month are looked at.
{{ config(meta={'dagster': {'ref': {'name': 'int_aws_line_groups'}}}) }}
with shared_accounts as (
    select usage_month, account_id as sub_account_id from {{ ref('int_bill_names') }}
    where provider_name = 'AWS' and account_id <> '' and {{ of_built_months() }}
    group by usage_month, account_id
    having count(distinct payer_account_id) > 1
),

hours as (
    select
        lines.usage_month,
        lines.sub_account_id,
        lines.resource_id,
        lines.usage_type,
        lines.charge_period_start,
        min(lines.payer_account_id) as first_payer,
        max(lines.payer_account_id) as other_payer,
        min(lines.source_name) as first_source,
        max(lines.source_name) as other_source,
        sum(coalesce({{ as_double('lines.usage_amount') }}, 1e0)) as billed_hours,
        max(cast({{ microseconds('lines.charge_period_start', 'lines.charge_period_end') }} as double)) / 3.6e9 as hours
    from {{ ref('stg_aws_cur__line_items') }} as lines
    inner join shared_accounts
        on lines.usage_month = shared_accounts.usage_month and lines.sub_account_id = shared_accounts.sub_account_id
    where
        lines.is_book
        and not lines.is_pod
        and lines.line_item_type in ('Usage', 'DiscountedUsage', 'SavingsPlanCoveredUsage')
        and lines.resource_id is not null
        and {{ aws_is_accelerator(aws_instance_type('lines.usage_type')) }}
    group by lines.usage_month, lines.sub_account_id, lines.resource_id, lines.usage_type, lines.charge_period_start
)

select
    usage_month,
    sub_account_id,
    first_payer,
    other_payer,
    first_source,
    other_source,
    min(resource_id) as resource_id,
    count(*) as hour_count
from hours
where first_payer <> other_payer and billed_hours > hours * (1 + 1e-9)
group by usage_month, sub_account_id, first_payer, other_payer, first_source, other_source

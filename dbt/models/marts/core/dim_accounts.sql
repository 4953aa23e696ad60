with named_accounts as (
    select provider_name, account_id, payer_account_id, account_name, usage_month
    from {{ ref('int_bill_names') }}
    where account_id <> ''

    union all

    -- a payer that uses nothing itself still signs the bill
    select provider_name, payer_account_id as account_id, payer_account_id, payer_account_name as account_name, usage_month
    from {{ ref('int_bill_names') }}
),

account_months as (
    select
        provider_name,
        account_id,
        usage_month,
        max(payer_account_id) as payer_account_id,
        max(account_name) as account_name
    from named_accounts
    group by all
)

select
    provider_name,
    account_id,
    max_by(account_name, usage_month) filter (where account_name is not null) as account_name,
    max_by(payer_account_id, usage_month) as payer_account_id,
    min(usage_month) as first_usage_month,
    max(usage_month) as last_usage_month
from account_months
group by all

{{ config(materialized='by_month') }}

with named_rows as (
    select
        provider_name,
        usage_month,
        payer_account_id,
        payer_account_name,
        sub_account_id as account_id,
        account_name,
        service_code,
        service_name
    from {{ ref('int_aws_line_groups') }}

    union all

    select
        provider_name,
        usage_month,
        payer_account_id,
        cast(null as string) as payer_account_name,
        sub_account_id as account_id,
        account_name,
        service_code,
        nullif(service_description, '') as service_name
    from {{ ref('int_gcp_project_lines') }}
)

select
    provider_name,
    usage_month,
    payer_account_id,
    account_id,
    service_code,
    max(payer_account_name) as payer_account_name,
    max(account_name) as account_name,
    max(service_name) as service_name
from named_rows
group by all

-- A report or an answer directly below payer= may have the emissions of the payer's accounts in it: the account that pays for an
-- organisation may see all of them. Beside one of such an account, below account=, they would be counted twice
{{ config(meta={'dagster': {'ref': {'name': 'int_carbon_rows'}}}) }}
with files as (
    select distinct
        usage_month,
        payer_account_id,
        source_object,
        {{ matches('lower(source_object)', '(^|/)account=[0-9]{12}/[^/]+$') }} as is_of_account
    from {{ ref('stg_aws_carbon__emissions') }}
    where
        is_book
        and is_elected
        and {{ of_built_months() }}
        and {{ matches('lower(source_object)', '(^|/)payer=[0-9]{12}/(account=[0-9]{12}/)?[^/]+$') }}
)

select
    usage_month,
    payer_account_id,
    min(case when not is_of_account then source_object end) as object_of_payer,
    min(case when is_of_account then source_object end) as object_of_account
from files
group by usage_month, payer_account_id
having min(case when not is_of_account then source_object end) is not null
    and min(case when is_of_account then source_object end) is not null

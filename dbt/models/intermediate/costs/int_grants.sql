-- days of an account in which a grant is stated: what it had for nothing has a reason
with grants as (
    select
        key as sub_account_id,
        coalesce(valid_from, date '0001-01-01') as granted_from,
        coalesce(valid_to, date '9999-12-31') as granted_to
    from {{ ref('stg_user_inputs__figures') }}
    where kind = 'grant'
),

spans as (
    {{ slices('grants', 'sub_account_id', 'granted_from', 'granted_to') }}
)

select distinct spans.sub_account_id, spans.slice_from as granted_from, spans.slice_to as granted_to
from spans
inner join grants
    on
        spans.sub_account_id = grants.sub_account_id
        and grants.granted_from <= spans.slice_from
        and grants.granted_to >= spans.slice_to

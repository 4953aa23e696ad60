{{ config(materialized='by_month', meta={'empty_without': ['int_named_charges']}) }}

with held as (
    select distinct usage_month, resource_id from {{ ref('int_month_holdings') }}
    where {{ in_build_months() }}
)

select distinct usage_month, named.line_id
from {{ ref('int_named_charges') }} as named
inner join held using (usage_month)
where named.held_resource_id = held.resource_id and not named.is_job_name and not named.is_twin

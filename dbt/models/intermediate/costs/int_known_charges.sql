{{ config(materialized='by_month', meta={'empty_without': ['int_named_charges']}) }}

select distinct usage_month, named.line_id
from {{ ref('int_named_charges') }} as named
inner join {{ ref('int_month_holdings') }} as holdings using (usage_month)
where named.held_resource_id = holdings.resource_id and not named.is_job_name and not named.is_twin and {{ in_build_months() }}

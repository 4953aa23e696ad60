{{ config(materialized='by_month', meta={'empty_without': ['int_named_charges', 'int_line_attributions']}) }}

with held as (
    select distinct usage_month, resource_id as held_resource_id from {{ ref('int_month_holdings') }}
    where resource_id is not null and {{ in_build_months() }}
)

-- of which accounts and types records name a resource: by its own name, its pool, its reservation or its cluster. A name that
-- fits two machines is of neither
select
    named.usage_month,
    named.provider_name,
    named.sub_account_id,
    coalesce(named.instance_type, '') as instance_type
from {{ ref('int_named_charges') }} as named
inner join held using (usage_month, held_resource_id)
where named.is_usage and named.is_accelerator_type and not named.is_twin

union

-- and by a job or a workload
select
    charges.usage_month,
    charges.provider_name,
    charges.sub_account_id,
    coalesce(charges.instance_type, '') as instance_type
from {{ ref('int_line_attributions') }} as attributions
inner join {{ ref('int_charges') }} as charges using (usage_month, line_id)
where
    attributions.attribution_rule in ('managed_job', 'split_allocation')
    and charges.is_accelerator_type
    and {{ in_build_months('attributions.usage_month') }}

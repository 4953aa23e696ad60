with billed as (
    select distinct quarter, provider_name, region_id
    from {{ ref('fct_reconciliation') }}
    {{ of_quarters() }}
)

select billed.quarter, regions.*
from {{ ref('dim_regions') }} as regions
inner join billed using (provider_name, region_id)

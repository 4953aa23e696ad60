{{ config(materialized='by_month', meta={'empty_without': ['stg_aws_carbon__emissions where period_end is not null']}) }}

select
    emissions.source_name,
    emissions.provider_name,
    emissions.payer_account_id,
    emissions.sub_account_id,
    emissions.service_code,
    coalesce(named.region_id, emissions.region_id) as region_id,
    emissions.usage_month,
    emissions.period_start,
    emissions.period_end,
    emissions.source_object,
    emissions.row_number,
    emissions.provider_model_version,
    emissions.is_book,
    emissions.is_elected,
    emissions.is_global,
    emissions.is_negative,
    {{ masses('emissions') }}
from {{ ref('stg_aws_carbon__emissions') }} as emissions
left join {{ ref('regions') }} as named
    on emissions.provider_name = named.provider_name and emissions.region_id = named.carbon_region_name
where emissions.period_end is not null

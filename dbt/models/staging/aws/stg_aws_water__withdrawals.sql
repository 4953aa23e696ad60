select
    _source_name as source_name,
    _source_object as source_object,
    _row_number as row_number,
    _published_at as published_at,
    'AWS' as provider_name,
    payer_account_id,
    usage_account_id as sub_account_id,
    period_start as usage_year,
    -- null: AWS was not asked for regions, and the figure is of all of them
    case when region is not null then coalesce({{ aws_region('region') }}, '') end as region_id,
    model_version as provider_model_version,
    {{ to_exact('withdrawal_m3', 9) }} as withdrawal_m3
from {{ source('raw', 'aws_water') }}

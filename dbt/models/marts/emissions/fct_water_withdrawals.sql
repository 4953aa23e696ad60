select
    payer_account_id,
    sub_account_id,
    usage_year,
    region_id,
    provider_model_version,
    stated_m3 as withdrawal_m3,
    {{ exact_sum(['stated_m3', '-withdrawal_m3'], 9) }} as runs_withdrawal_m3,
    withdrawal_m3 as rest_withdrawal_m3,
    unknown_because,
    source_name,
    source_object,
    row_number
from {{ ref('int_water_shares') }}
where training_run_id is null

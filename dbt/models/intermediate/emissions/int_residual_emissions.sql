{{ config(materialized='by_month') }}

with residuals as (
    select *, cell_id as charge_id
    from {{ ref('int_carbon_splits') }}
    where part_id = '~residual' and (w > 0 or not is_weighted) and {{ in_build_months() }}
),

reasons as (
    select residuals.charge_id, weights.reason as part_id, weights.w
    from residuals
    inner join {{ ref('int_carbon_weights') }} as weights
        using (provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month)
    where
        residuals.is_weighted
        and not residuals.is_global
        and weights.training_run_id is null
        and weights.w > 0
        and {{ in_build_months('weights.usage_month') }}
),

parts as (
    select charge_id, part_id, w from reasons

    union all

    select
        charge_id,
        case when is_global then 'global' when not is_weighted then 'no_usage' else 'unattributed' end as part_id,
        cast(1 as decimal(38, 0)) as w
    from residuals
    where charge_id not in (select reasons.charge_id from reasons)
),

split as (
    {{ exact_split('residuals', 'parts', mass_names(), 9) }}
)

select
    {{ cell_of('residuals') }},
    residuals.cell_id,
    residuals.provider_model_version,
    residuals.is_elected,
    split.part_id as reason,
    {{ masses('split') }}
from split
inner join residuals using (charge_id)

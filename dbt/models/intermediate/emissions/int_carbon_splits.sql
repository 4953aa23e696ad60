{{ config(materialized='by_month') }}

with cells as (
    select *, cell_id as charge_id
    from {{ ref('int_carbon_cells') }}
    where {{ in_build_months() }}
),

weights as (
    select cells.charge_id, weights.training_run_id, weights.w, weights.signed_w
    from cells
    inner join {{ ref('int_carbon_weights') }} as weights
        using (provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month)
    where not cells.is_global and {{ in_build_months('weights.usage_month') }}
),

totals as (
    select
        charge_id,
        cast(sum(signed_w) as decimal(38, 0)) as cell_w,
        cast(sum(case when training_run_id is not null then w else 0 end) as decimal(38, 0)) as runs_w
    from weights
    group by all
),

parts as (
    -- corrections weigh with their sign: a cell whose total is not positive is all residual
    select charge_id, weights.training_run_id as part_id, weights.w
    from weights
    inner join totals using (charge_id)
    where weights.training_run_id is not null and weights.w > 0 and totals.cell_w > 0

    union all

    select
        charge_id,
        '~residual' as part_id,
        cast(case when totals.cell_w > 0 then greatest(totals.cell_w - totals.runs_w, 0) else 1 end as decimal(38, 0)) as w
    from cells
    left join totals using (charge_id)
),

split as (
    {{ exact_split('cells', 'parts', mass_names(), 9) }}
)

select
    {{ cell_of('cells') }},
    cells.cell_id,
    cells.provider_model_version,
    cells.is_elected,
    cells.is_global,
    coalesce(totals.cell_w, 0) > 0 as is_weighted,
    split.part_id,
    split.w,
    {{ masses('split') }}
from split
inner join cells using (charge_id)
left join totals using (charge_id)

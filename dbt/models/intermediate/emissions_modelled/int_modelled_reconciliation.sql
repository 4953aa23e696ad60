-- Where the engineering view meets the book: per carbon cell, what provider and model give to the runs that used accelerators there, both
-- location-based Scope 2. Rows of method modelled_vs_provider in the shape of fct_reconciliation.
with accelerated as (
    select
        provider_name,
        payer_account_id,
        sub_account_id,
        case
            when provider_name <> 'AWS' or service_code in ('AmazonEC2', 'AmazonS3', 'AmazonCloudFront') then service_code
            else 'Other'
        end as service_code,
        region_id,
        usage_month,
        training_run_id,
        cast(greatest(sum({{ to_units('weight', 12) }}), 0) as decimal(38, 0)) as w
    from {{ ref('int_cell_parts') }}
    where cost_component = 'accelerator' and training_run_id is not null and usage_line_count > 0
    group by
        provider_name, payer_account_id, sub_account_id,
        case
            when provider_name <> 'AWS' or service_code in ('AmazonEC2', 'AmazonS3', 'AmazonCloudFront') then service_code
            else 'Other'
        end,
        region_id, usage_month, training_run_id
),

cells as (
    select
        {{ cell_of('splits') }},
        splits.cell_id,
        splits.provider_model_version,
        splits.part_id,
        splits.provider_scope_2_location_based_kgco2e as provider_kgco2e,
        accelerated.training_run_id,
        accelerated.w
    from {{ ref('int_carbon_splits') }} as splits
    left join accelerated
        on
            splits.provider_name = accelerated.provider_name
            and splits.payer_account_id = accelerated.payer_account_id
            and splits.sub_account_id = accelerated.sub_account_id
            and splits.service_code = accelerated.service_code
            and splits.region_id = accelerated.region_id
            and splits.usage_month = accelerated.usage_month
            and splits.part_id = accelerated.training_run_id
    where splits.is_elected and not splits.is_global
),

modelled as (
    select
        training_run_id,
        usage_month,
        region_id,
        training_run_id || '|' || cast(usage_month as string) || '|' || region_id as charge_id,
        modelled_location_based_kgco2e
    from {{ ref('fct_training_run_emissions_modelled') }}
),

-- a run billed in two cells of one region is divided between them by the cells' own weights
charges as (
    select charge_id, modelled_location_based_kgco2e from modelled
),

parts as (
    select modelled.charge_id, cells.cell_id as part_id, cells.w
    from cells
    inner join modelled
        on
            cells.training_run_id = modelled.training_run_id
            and cells.usage_month = modelled.usage_month
            and cells.region_id = modelled.region_id
    where cells.w > 0
),

split as (
    {{ exact_split('charges', 'parts', ['modelled_location_based_kgco2e'], 9) }}
),

runs as (
    select
        cells.cell_id,
        cells.provider_kgco2e,
        split.modelled_location_based_kgco2e as modelled_kgco2e
    from cells
    left join split
        on
            cells.cell_id = split.part_id
            and split.charge_id = cells.training_run_id || '|' || cast(cells.usage_month as string) || '|' || cells.region_id
    where cells.training_run_id is not null and cells.w > 0
),

run_totals as (
    select
        cell_id,
        count(*) as run_count,
        count(modelled_kgco2e) as modelled_run_count,
        {{ whole_sum('provider_kgco2e', 'decimal(38, 9)') }} as provider_kgco2e,
        {{ whole_sum('modelled_kgco2e', 'decimal(38, 9)') }} as modelled_kgco2e
    from runs
    group by cell_id
),

cell_totals as (
    select {{ cell() }}, cell_id, provider_model_version, {{ whole_sum('provider_kgco2e', 'decimal(38, 9)') }} as provider_kgco2e
    from cells
    group by {{ cell() }}, cell_id, provider_model_version
)

select
    {{ cell_of('cell_totals') }},
    'provider_scope_2_location_based_kgco2e' as measure,
    'kgCO2e' as unit_or_currency,
    cell_totals.provider_model_version,
    'modelled_vs_provider' as method,
    cast(cell_totals.provider_kgco2e as decimal(38, 12)) as provider_total,
    cast(run_totals.provider_kgco2e as decimal(38, 12)) as runs_total,
    cast(null as decimal(38, 12)) as residual_total,
    cast(null as decimal(38, 12)) as quarantined_total,
    cast(run_totals.provider_kgco2e - run_totals.modelled_kgco2e as decimal(38, 12)) as difference,
    cast(run_totals.modelled_kgco2e as decimal(38, 12)) as modelled_total,
    case
        when run_totals.provider_kgco2e > 0
            then cast(round(cast(run_totals.modelled_kgco2e as double) / cast(run_totals.provider_kgco2e as double), 9) as double)
    end as ratio,
    cast(null as double) as weight_coverage_ratio,
    case
        when run_totals.provider_kgco2e is null then 'the provider publishes no location-based Scope 2 here'
        when run_totals.modelled_kgco2e is null
            then 'modelled for ' || cast(run_totals.modelled_run_count as string) || ' of ' || cast(run_totals.run_count as string) || ' runs'
        when run_totals.provider_kgco2e = 0 then 'the provider gives these runs nothing'
    end as reason
from cell_totals
inner join run_totals on cell_totals.cell_id = run_totals.cell_id

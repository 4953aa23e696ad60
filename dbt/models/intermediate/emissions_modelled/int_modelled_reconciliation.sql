{%- set rows_of = "int_cell_parts where cost_component = 'accelerator' and training_run_id is not null" %}
{{ config(materialized='by_month', meta={'empty_without': [rows_of]}) }}

with run_weights as (
    select
        parts.provider_name,
        parts.payer_account_id,
        parts.sub_account_id,
        {{ carbon_product('parts') }} as service_code,
        parts.region_id,
        parts.usage_month,
        parts.training_run_id,
        cast(greatest(sum({{ to_units('parts.weight', 12) }}), 0) as decimal(38, 0)) as w
    from {{ ref('int_cell_parts') }} as parts
    where
        parts.cost_component = 'accelerator'
        and parts.training_run_id is not null
        and parts.usage_line_count > 0
        and {{ in_build_months('parts.usage_month') }}
    group by all
),

-- A run's modelled figure of a region is divided over the cells in which its accelerators were billed, those without carbon
-- too: what belongs to them is not pushed onto the others. A single cell takes all of it; several without a weight cannot be
-- distinguished.
run_cells as (
    select
        *,
        training_run_id || '|' || cast(usage_month as string) || '|' || region_id as charge_id,
        provider_name || '|' || payer_account_id || '|' || sub_account_id || '|' || service_code as part_id,
        count(*) over (partition by training_run_id, usage_month, region_id) as cell_count,
        sum(w) over (partition by training_run_id, usage_month, region_id) as all_w
    from run_weights
),

charges as (
    select
        training_run_id || '|' || cast(usage_month as string) || '|' || region_id as charge_id,
        modelled_location_based_kgco2e
    from {{ ref('fct_training_run_emissions_modelled') }}
    where {{ in_build_months() }}
    -- a cell is of one region: where the organisation has a factor of its own there, it is the one that is compared
    qualify row_number() over (
        partition by training_run_id, usage_month, region_id order by case when factor_set_id = 'user' then 0 else 1 end
    ) = 1
),

parts as (
    select charge_id, part_id, case when cell_count = 1 then cast(1 as decimal(38, 0)) else w end as w
    from run_cells
    where cell_count = 1 or all_w > 0
),

shares as (
    {{ exact_split('charges', 'parts', ['modelled_location_based_kgco2e'], 9) }}
),

splits as (
    select * from {{ ref('int_carbon_splits') }}
    where is_elected and not is_global and {{ in_build_months() }}
),

cells as (
    select
        {{ cell() }},
        cell_id,
        provider_model_version,
        {{ whole_sum('provider_scope_2_location_based_kgco2e', 'decimal(38, 9)') }} as provider_kgco2e
    from splits
    group by all
),

runs as (
    select
        cells.cell_id,
        case
            when splits.cell_id is not null then splits.provider_scope_2_location_based_kgco2e
            when cells.provider_kgco2e is not null then cast(0 as decimal(38, 9))
        end as provider_kgco2e,
        shares.modelled_location_based_kgco2e as modelled_kgco2e
    from cells
    inner join run_cells using (provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month)
    left join splits on cells.cell_id = splits.cell_id and run_cells.training_run_id = splits.part_id
    left join shares on run_cells.charge_id = shares.charge_id and run_cells.part_id = shares.part_id
),

run_totals as (
    select
        cell_id,
        count(*) as run_count,
        count(modelled_kgco2e) as modelled_run_count,
        {{ whole_sums(['provider_kgco2e', 'modelled_kgco2e'], 9) }}
    from runs
    group by all
)

select
    {{ cell_of('cells') }},
    'provider_scope_2_location_based_kgco2e' as measure,
    'kgCO2e' as unit_or_currency,
    cells.provider_model_version,
    'modelled_vs_provider' as method,
    cast(cells.provider_kgco2e as decimal(38, 12)) as provider_total,
    cast(run_totals.provider_kgco2e as decimal(38, 12)) as runs_total,
    cast(null as decimal(38, 12)) as residual_total,
    cast(null as decimal(38, 12)) as quarantined_total,
    cast({{ exact_sum(['run_totals.provider_kgco2e', '-run_totals.modelled_kgco2e'], 9) }} as decimal(38, 12)) as difference,
    cast(run_totals.modelled_kgco2e as decimal(38, 12)) as modelled_total,
    case
        when run_totals.provider_kgco2e > 0
            then cast(round(cast(run_totals.modelled_kgco2e as double) / cast(run_totals.provider_kgco2e as double), 9) as double)
    end as ratio,
    cast(null as double) as weight_coverage_ratio,
    case
        when run_totals.provider_kgco2e is null then 'the provider publishes no location-based Scope 2 here'
        when run_totals.modelled_kgco2e is null then
            'modelled for ' || cast(run_totals.modelled_run_count as string)
            || ' of ' || cast(run_totals.run_count as string) || ' runs'
        when run_totals.provider_kgco2e = 0 then 'the provider gives these runs nothing'
    end as reason
from cells
inner join run_totals using (cell_id)

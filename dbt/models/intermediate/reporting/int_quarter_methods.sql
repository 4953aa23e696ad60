{#- a change of method is a run-month on evidence that its accelerator type did not have in the quarter before -#}
with run_months as (
    select
        energy.training_run_id,
        energy.usage_month,
        cast(date_trunc('quarter', energy.usage_month) as date) as quarter_start,
        coalesce(runs.accelerator_type, '') as accelerator_type,
        energy.energy_basis || ', ' || energy.power_confidence as evidence,
        energy.facility_energy_kwh,
        energy.chip_energy_kwh,
        energy.chip_host_energy_kwh,
        energy.reserved_chip_hours,
        case
            when energy.reserved_chip_hours > 0 and energy.energy_basis <> 'time_model' and energy.use_coverage_ratio >= 0.999
                then cast(cast(energy.busy_chip_hours as double) / cast(energy.reserved_chip_hours as double) as decimal(12, 9))
        end as use_ratio,
        case
            when energy.reserved_chip_hours > 0
                then cast(cast(energy.chip_energy_kwh as double) / cast(energy.reserved_chip_hours as double) as decimal(18, 9))
        end as kw
    from {{ ref('fct_training_run_energy') }} as energy
    inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
    where energy.facility_energy_kwh is not null
),

-- of a type in a quarter: its evidence, and the line of kW of a chip over its use on which its run-months lie
sums as (
    select
        quarter_start,
        accelerator_type,
        cast(sum(kw) as double) / count(kw) as mean_kw,
        count(case when use_ratio is not null then kw end) as n,
        cast(sum(case when kw is not null then use_ratio end) as double) as u,
        cast(sum(case when use_ratio is not null then kw end) as double) as p,
        cast(sum(case when kw is not null then use_ratio * use_ratio end) as double) as uu,
        cast(sum(cast(use_ratio * kw as decimal(38, 18))) as double) as up
    from run_months
    group by quarter_start, accelerator_type
),

-- without two levels of use, or without telemetry, its mean power at any use
lines as (
    select
        cast(quarter_start + interval 3 month as date) as next_quarter_start,
        accelerator_type,
        mean_kw,
        case when n > 1 and n * uu - u * u > 1e-6 then (n * up - u * p) / (n * uu - u * u) end as slope,
        case when n > 1 and n * uu - u * u > 1e-6 then (p - (n * up - u * p) / (n * uu - u * u) * u) / n end as intercept
    from sums
),

known_evidence as (
    select distinct cast(quarter_start + interval 3 month as date) as next_quarter_start, accelerator_type, evidence
    from run_months
),

-- what a run-month would be by the method of the quarter before: its own figure where that quarter had such evidence
as_before as (
    select
        run_months.training_run_id,
        run_months.usage_month,
        run_months.quarter_start,
        run_months.accelerator_type,
        run_months.facility_energy_kwh,
        case
            when known_evidence.evidence is not null or lines.mean_kw is null or run_months.chip_host_energy_kwh <= 0 then 1e0
            else coalesce(
                (
                    cast(run_months.chip_host_energy_kwh as double) - cast(run_months.chip_energy_kwh as double)
                    + cast(run_months.reserved_chip_hours as double)
                    * coalesce(lines.intercept + lines.slope * cast(run_months.use_ratio as double), lines.mean_kw)
                ) / cast(run_months.chip_host_energy_kwh as double),
                1e0
            )
        end as factor
    from run_months
    left join lines
        on run_months.quarter_start = lines.next_quarter_start and run_months.accelerator_type = lines.accelerator_type
    left join known_evidence
        on
            run_months.quarter_start = known_evidence.next_quarter_start
            and run_months.accelerator_type = known_evidence.accelerator_type and run_months.evidence = known_evidence.evidence
),

rows_of_figures as (
    select
        'facility_energy' as figure_id, quarter_start, accelerator_type, '' as region_id, '' as factor_year,
        facility_energy_kwh as value, facility_energy_kwh as kwh,
        cast(cast(facility_energy_kwh as double) * factor as decimal(38, 9)) as kwh_as_before
    from as_before

    union all

    select
        'modelled_location_based' as figure_id, as_before.quarter_start, as_before.accelerator_type, modelled.region_id,
        cast(factors.data_year as string) as factor_year,
        modelled.modelled_location_based_kgco2e as value, modelled.facility_energy_kwh as kwh,
        cast(cast(modelled.facility_energy_kwh as double) * as_before.factor as decimal(38, 9)) as kwh_as_before
    from as_before
    inner join {{ ref('fct_training_run_emissions_modelled') }} as modelled using (training_run_id, usage_month)
    left join {{ ref('dim_emission_factors') }} as factors using (factor_id)
    where modelled.factor_set_id = 'location_direct_v1' and modelled.modelled_location_based_kgco2e is not null
),

cells as (
    select
        figure_id,
        quarter_start,
        accelerator_type,
        region_id,
        min(factor_year) || max(factor_year) as years,
        sum(value) as value,
        cast(sum(kwh) as double) as kwh,
        cast(sum(kwh_as_before) as double) as kwh_as_before
    from rows_of_figures
    group by figure_id, quarter_start, accelerator_type, region_id
),

-- the quarter before times what the method makes of this quarter; what is in one of the two alone is activity
recomputed as (
    select
        earlier.figure_id,
        cast(earlier.quarter_start + interval 3 month as date) as quarter_start,
        earlier.value,
        case
            when later.kwh_as_before > 0 and earlier.kwh > 0 and earlier.value > 0
                then
                    later.kwh / later.kwh_as_before
                    * case
                        when coalesce(later.years, '') <> coalesce(earlier.years, '')
                            then cast(later.value as double) / later.kwh * earlier.kwh / cast(earlier.value as double)
                        else 1e0
                    end
            else 1e0
        end as method_factor
    from cells as earlier
    left join cells as later
        on
            earlier.figure_id = later.figure_id and later.quarter_start = earlier.quarter_start + interval 3 month
            and earlier.accelerator_type = later.accelerator_type and earlier.region_id = later.region_id
)

select
    quarter_start,
    figure_id,
    cast(sum(case when method_factor = 1e0 then cast(0 as decimal(38, 12)) else cast(
        cast(value as double) * (method_factor - 1e0) as decimal(38, 12)
    ) end) as decimal(38, 12)) as change_by_method
from recomputed
group by quarter_start, figure_id

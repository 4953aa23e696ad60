"""The queries behind the headline figures of section 1; each is complete in itself and gives one row per currency or unit."""

from reports.quarter import Quarter
from reports.sections.sql import ON_RECORD, complete, literal, presence, within


def effective_cost_sql(quarter: Quarter) -> str:
    """Runs and everything billed, this quarter and the last, null while a bill is missing."""
    span = f"usage_month >= {literal(quarter.previous.start)} and usage_month < {literal(quarter.end)}"
    return f"""with {presence(quarter)},
costs as (
    select billing_currency, usage_month, effective_cost, true as is_run from marts.fct_training_run_costs where {span}
    union all
    select billing_currency, usage_month, effective_cost, false from marts.fct_residual_costs where {span}
),
sums as (
    select
        billing_currency,
        coalesce(sum(effective_cost) filter (where is_run and {within(quarter)}), 0) as run_cost,
        coalesce(sum(effective_cost) filter (where {within(quarter)}), 0) as all_cost,
        coalesce(sum(effective_cost) filter (where is_run and {within(quarter.previous)}), 0) as previous_cost
    from costs
    group by billing_currency
)
select
    billing_currency as unit,
    case when {complete("has_bill")} then run_cost end as value,
    case when {complete("has_bill")} then all_cost end as whole,
    case when {complete("has_bill")} and {complete("has_bill", False)} and previous_cost > 0
        then cast(round(run_cost / previous_cost - 1, 6) as decimal(18, 6)) end as change_ratio,
    case
        when not {complete("has_bill")} then 'a bill of the quarter is missing'
        when not {complete("has_bill", False)} then 'the bills of {quarter.previous.name} are not complete'
        when previous_cost <= 0 then 'no cost of runs in {quarter.previous.name}'
    end as change_reason
from sums
order by billing_currency"""


def coverage_sql(quarter: Quarter) -> str:
    """How much of the accelerator cost has an energy and an emission figure, and how much the runs carry."""
    return f"""with {presence(quarter)},
accelerator_costs as (
    select costs.billing_currency, costs.effective_cost, true as is_run,
        emissions.provider_total_location_based_kgco2e is not null and energy.facility_energy_kwh is not null as is_covered
    from marts.fct_training_run_costs as costs
    left join marts.fct_training_run_emissions as emissions using (training_run_id, usage_month)
    left join marts.fct_training_run_energy as energy using (training_run_id, usage_month)
    where costs.cost_component = 'accelerator' and {within(quarter, "costs.usage_month")}
    union all
    select billing_currency, effective_cost, false, false
    from marts.fct_residual_costs
    where cost_component = 'accelerator' and {within(quarter)}
),
sums as (
    select billing_currency, sum(effective_cost) as all_cost,
        coalesce(sum(effective_cost) filter (where is_run), 0) as run_cost,
        coalesce(sum(effective_cost) filter (where is_covered), 0) as covered_cost
    from accelerator_costs
    group by billing_currency
)
select
    billing_currency as unit,
    case when all_cost > 0 and {complete("has_bill")} then cast(round(covered_cost / all_cost, 6) as decimal(18, 6)) end as value,
    case when all_cost > 0 and {complete("has_bill")} then cast(round(run_cost / all_cost, 6) as decimal(18, 6)) end as whole,
    cast(null as decimal(18, 6)) as change_ratio,
    'a share is not compared over quarters' as change_reason
from sums
order by billing_currency"""


def mass_sql(quarter: Quarter, measure: str) -> str:
    """One provider mass: allocated to runs, and as the provider reported it, null while a carbon month is missing."""
    span = f"usage_month >= {literal(quarter.previous.start)} and usage_month < {literal(quarter.end)}"
    return f"""with {presence(quarter)},
parts as (
    select provider_name, payer_account_id, usage_month, provider_model_version, true as is_run, {measure} as mass
    from marts.fct_run_cell_emissions where {span}
    union all
    select provider_name, payer_account_id, usage_month, provider_model_version, false, {measure}
    from marts.fct_residual_emissions where {span}
),
sums as (
    select
        sum(mass) filter (where is_run and {within(quarter)}) as run_mass,
        sum(mass) filter (where {within(quarter)}) as all_mass,
        sum(mass) filter (where is_run and {within(quarter.previous)}) as previous_mass,
        count(*) filter (where mass is null and {within(quarter)}) as unknown_rows,
        count(*) filter (where mass is null and {within(quarter.previous)}) as previous_unknown_rows,
        string_agg(distinct provider_model_version, ', ' order by provider_model_version)
            filter (where {within(quarter)}) as versions,
        string_agg(distinct provider_model_version, ', ' order by provider_model_version)
            filter (where {within(quarter.previous)}) as previous_versions
    from parts
)
select
    'kgCO2e' as unit,
    case when {complete("has_carbon")} and unknown_rows = 0 then run_mass end as value,
    case when {complete("has_carbon")} and unknown_rows = 0 then all_mass end as whole,
    case when {complete("has_carbon")} and {complete("has_carbon", False)} and unknown_rows = 0 and previous_unknown_rows = 0
            and versions is not distinct from previous_versions and previous_mass > 0
        then cast(round(run_mass / previous_mass - 1, 6) as decimal(18, 6)) end as change_ratio,
    case
        when not {complete("has_carbon")} then 'a carbon month of the quarter is not published'
        when not {complete("has_carbon", False)} then 'the carbon months of {quarter.previous.name} are not complete'
        when versions is distinct from previous_versions
            then 'the provider changed its model: ' || previous_versions || ', then ' || versions
        when unknown_rows + previous_unknown_rows > 0 then 'the provider left values out'
        when previous_mass is null or previous_mass <= 0 then 'nothing allocated to runs in {quarter.previous.name}'
    end as change_reason
from sums"""


def energy_sql(quarter: Quarter) -> str:
    """Facility energy of the runs with bounds and idle reserve, null when a run-month has none; what is known is apart."""
    ends = ("", "_low", "_high")
    spans = [("", within(quarter)), ("_before", within(quarter.previous))]
    sums = ",\n        ".join(
        [
            *(
                f"coalesce(sum(facility_energy_kwh{end}) filter (where {span}), 0) as energy{end}{name}"
                for name, span in spans
                for end in ends
            ),
            *(f"count(*) filter (where {ON_RECORD} and {span}) as run_months{name}" for name, span in spans),
            f"count(*) filter (where not {ON_RECORD} and {within(quarter)}) as unrecorded_run_months",
            *(f"count(facility_energy_kwh) filter (where {span}) as known_run_months{name}" for name, span in spans),
            f"sum(idle_share_facility_energy_kwh) filter (where {within(quarter)}) as idle_energy",
            f"count(idle_share_facility_energy_kwh) filter (where {within(quarter)}) as known_idle_run_months",
        ]
    )
    return f"""with sums as (
    select {sums}
    from marts.fct_training_run_energy
    inner join marts.dim_training_runs as runs using (training_run_id)
    where usage_month >= {literal(quarter.previous.start)} and usage_month < {literal(quarter.end)}
)
select
    'kWh' as unit,
    case when known_run_months = run_months then energy end as value,
    case when known_run_months = run_months and known_idle_run_months = run_months then energy + idle_energy end as whole,
    case when known_run_months = run_months and known_run_months_before = run_months_before and energy_before > 0
        then cast(round(cast(energy as double) / cast(energy_before as double) - 1, 6) as decimal(18, 6)) end as change_ratio,
    case
        when known_run_months_before < run_months_before then 'the energy of {quarter.previous.name} is not whole'
        when energy_before = 0 then 'no energy of runs in {quarter.previous.name}'
    end as change_reason,
    case when known_run_months = run_months then energy_low end as low,
    case when known_run_months = run_months then energy_high end as high,
    energy as known, energy_low as known_low, energy_high as known_high,
    (run_months - known_run_months) || ' of ' || run_months || ' run-months have no energy figure' as absent,
    'in the other ' || known_run_months || ', plausible bounds in brackets' as known_label,
    case when unrecorded_run_months > 0
        then 'Run-months known by a tag only, without energy and not in it: ' || unrecorded_run_months end as remark
from sums
where run_months > 0"""

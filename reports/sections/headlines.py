"""Section 1: the five figures, each with its whole, its change against the last quarter, or the reason why there is none.

Each query is complete in itself and gives one row per currency or unit.
"""

from dataclasses import replace

from reports.model import Figure
from reports.publication import Publication, Row
from reports.quarter import Quarter
from reports.sections.sql import ENDS, ON_RECORD, PRESENCE, WAYS, complete, within

LAST = "usage_month >= $before and usage_month < $start"
BOTH = "usage_month >= $before and usage_month < $end"

# Runs and everything billed, this quarter and the last, null while a bill is missing.
EFFECTIVE_COST = f"""with {PRESENCE},
costs as (
    select billing_currency, usage_month, effective_cost, true as is_run from marts.fct_training_run_costs where {BOTH}
    union all
    select billing_currency, usage_month, effective_cost, false from marts.fct_residual_costs where {BOTH}
),
sums as (
    select
        billing_currency,
        coalesce(sum(effective_cost) filter (where is_run and {within()}), 0) as run_cost,
        coalesce(sum(effective_cost) filter (where {within()}), 0) as all_cost,
        coalesce(sum(effective_cost) filter (where is_run and {LAST}), 0) as previous_cost
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
        when not {complete("has_bill", False)} then 'the bills of $last_quarter are not complete'
        when previous_cost <= 0 then 'no cost of runs in $last_quarter'
    end as change_reason
from sums
order by billing_currency"""

# How much of the accelerator cost has an energy and an emission figure, and how much the runs carry.
COVERAGE = f"""with {PRESENCE},
accelerator_costs as (
    select costs.billing_currency, costs.effective_cost, true as is_run,
        emissions.provider_total_location_based_kgco2e is not null and energy.facility_energy_kwh is not null as is_covered
    from marts.fct_training_run_costs as costs
    left join marts.fct_training_run_emissions as emissions using (training_run_id, usage_month)
    left join marts.fct_training_run_energy as energy using (training_run_id, usage_month)
    where costs.cost_component = 'accelerator' and {within("costs.usage_month")}
    union all
    select billing_currency, effective_cost, false, false
    from marts.fct_residual_costs
    where cost_component = 'accelerator' and {within()}
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


def mass(measure: str) -> str:
    """One provider mass: allocated to runs, and as the provider reported it, null while a carbon month is missing."""
    return f"""with {PRESENCE},
parts as (
    select provider_name, payer_account_id, usage_month, provider_model_version, true as is_run, {measure} as mass
    from marts.fct_run_cell_emissions where {BOTH}
    union all
    select provider_name, payer_account_id, usage_month, provider_model_version, false, {measure}
    from marts.fct_residual_emissions where {BOTH}
),
sums as (
    select
        sum(mass) filter (where is_run and {within()}) as run_mass,
        sum(mass) filter (where {within()}) as all_mass,
        sum(mass) filter (where is_run and {LAST}) as previous_mass,
        count(*) filter (where mass is null and {within()}) as unknown_rows,
        count(*) filter (where mass is null and {LAST}) as previous_unknown_rows,
        string_agg(distinct provider_model_version, ', ' order by provider_model_version)
            filter (where {within()}) as versions,
        string_agg(distinct provider_model_version, ', ' order by provider_model_version)
            filter (where {LAST}) as previous_versions
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
        when not {complete("has_carbon", False)} then 'the carbon months of $last_quarter are not complete'
        when versions is distinct from previous_versions
            then 'the provider changed its model: ' || previous_versions || ', then ' || versions
        when unknown_rows + previous_unknown_rows > 0 then 'the provider left values out'
        when previous_mass is null or previous_mass <= 0 then 'nothing allocated to runs in $last_quarter'
    end as change_reason
from sums"""


SPANS = (("", within()), ("_before", LAST))
SUMS = ",\n        ".join(
    [
        *(
            f"coalesce(sum(facility_energy_kwh{end}) filter (where {span}), 0) as energy{end}{name}"
            for name, span in SPANS
            for end in ENDS
        ),
        *(f"count(*) filter (where {ON_RECORD} and {span}) as run_months{name}" for name, span in SPANS),
        f"count(*) filter (where not {ON_RECORD} and {within()}) as unrecorded_run_months",
        *(f"count(facility_energy_kwh) filter (where {span}) as known_run_months{name}" for name, span in SPANS),
        f"sum(idle_share_facility_energy_kwh) filter (where {within()}) as idle_energy",
        f"count(idle_share_facility_energy_kwh) filter (where {within()}) as known_idle_run_months",
    ]
)
# Facility energy of the runs with bounds and idle reserve, null when a run-month has none; what is known is apart.
ENERGY = f"""with sums as (
    select {SUMS}
    from marts.fct_training_run_energy
    inner join marts.dim_training_runs as runs using (training_run_id)
    where {BOTH}
)
select
    'kWh' as unit,
    case when known_run_months = run_months then energy end as value,
    case when known_run_months = run_months and known_idle_run_months = run_months then energy + idle_energy end as whole,
    case when known_run_months = run_months and known_run_months_before = run_months_before and energy_before > 0
        then cast(round(cast(energy as double) / cast(energy_before as double) - 1, 6) as decimal(18, 6)) end as change_ratio,
    case
        when known_run_months_before < run_months_before then 'the energy of $last_quarter is not whole'
        when energy_before = 0 then 'no energy of runs in $last_quarter'
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

# The figures before they are asked for, with the marks of `Quarter.fill`. No `unit`: each row of the answer is a currency.
FIGURES = (
    Figure(
        id="effective_cost",
        label="Effective cost of training runs",
        unit="",
        sql=EFFECTIVE_COST,
        whole_label="all that was billed, effective",
        absent="a bill of $quarter is missing",
        method="Net amortised cost of training runs (strict, without idle share), added over runs and months of the quarter, "
        "per currency.",
    ),
    Figure(
        id="facility_energy",
        label="Facility energy of training runs on record",
        unit="kWh",
        sql=ENERGY,
        whole_label="with the idle reserve beside the runs",
        absent="no run has an energy row in $quarter",
        method="Modelled bottom-up, strict: chips by telemetry or time, host, network and storage, times PUE; added over "
        "runs and months. Low and high are plausible bounds that err together.",
    ),
    *(
        Figure(
            id=f"provider_scope_2_{way}_based",
            label=f"Provider Scope 2, {way}-based, allocated to training runs",
            unit="kgCO2e",
            sql=mass(f"provider_scope_2_{way}_based_kgco2e"),
            whole_label="reported by the provider for all usage",
            absent="a carbon month of $quarter is not published",
            method="Provider mass of the elected model version, allocated to runs by list-price weight in each provider cell; "
            "runs added over the quarter.",
        )
        for way in WAYS
    ),
    Figure(
        id="accelerator_cost_coverage",
        label="Share of accelerator cost that carries an energy and an emission figure",
        unit="1",
        sql=COVERAGE,
        whole_label="attributed to training runs",
        absent="no accelerator cost in $quarter, or a bill is missing",
        method="Effective cost of accelerators in run-months whose energy and provider emissions are known, over that of all "
        "accelerators (runs and residuals), per currency.",
    ),
)


def _of(figure: Figure, row: Row, several: bool) -> Figure:
    """The figure of one row; with several currencies each names its own."""
    currency, is_known = str(row["unit"]), row["value"] is not None
    return replace(
        figure,
        id=f"{figure.id}/{currency}" if several else figure.id,
        label=f"{figure.label}, {currency}" if several and figure.unit else figure.label,
        unit=figure.unit or currency,
        value=row["value"],
        whole=row["whole"],
        low=row.get("low"),
        high=row.get("high"),
        change_ratio=row["change_ratio"],
        change_reason=row["change_reason"] or "",
        absent="" if is_known else row.get("absent") or figure.absent,
        known=(row["known"], row["known_low"], row["known_high"]) if not is_known and row.get("known") else None,
        known_label="" if is_known else row.get("known_label") or "",
        remark=row.get("remark") or "",
    )


def glance_figures(publication: Publication, quarter: Quarter) -> list[Figure]:
    """The five headline figures in the order of the page; in several currencies, one each."""
    figures = []
    for marked in FIGURES:
        figure = replace(marked, sql=quarter.fill(marked.sql), absent=quarter.fill(marked.absent))
        missing = publication.missing(figure.sql)
        rows = [] if missing else publication.rows(figure.sql)
        if not rows:
            reason = missing or (figure.absent if figure.unit == "kWh" else f"no cost in {quarter.name}")
            figures.append(replace(figure, whole_label="", change_reason=reason, absent=reason))
        figures += [_of(figure, row, len(rows) > 1) for row in rows]
    return figures

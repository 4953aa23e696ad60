"""What a run cost, which energy it used, what was emitted; how each is known and from what. One statement a table, for many runs.

Every figure is a column of `run_summary`; nothing is added up here that the published file has not by run and month. An account
is plain data with decimals, so that a page, a terminal and JSON have the same.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from reports.door import Row
from reports.page.numbers import plain
from reports.publication import Publication
from reports.runs.advice import advice_for

Account = dict[str, Any]

# name, unit ('' is the currency), columns of its bounds, and with which words unknown_because begins where it is null
FIGURES: tuple[tuple[str, str, tuple[str, str] | None, tuple[str, ...]], ...] = (
    ("effective_cost", "", None, ("cost:",)),
    ("billed_cost", "", None, ("cost:",)),
    ("list_cost", "", None, ("list cost:", "cost:")),
    ("facility_energy_kwh", "kWh", ("facility_energy_kwh_low", "facility_energy_kwh_high"), ("energy:",)),
    ("provider_scope_2_location_based_kgco2e", "kgCO2e", None, ("emissions:",)),
    ("provider_scope_2_market_based_kgco2e", "kgCO2e", None, ("emissions:",)),
    ("provider_total_location_based_kgco2e", "kgCO2e", None, ("emissions:",)),
    ("provider_total_market_based_kgco2e", "kgCO2e", None, ("emissions:",)),
    ("modelled_location_based_kgco2e", "kgCO2e", ("modelled_low", "modelled_high"), ("modelled emissions:", "energy:")),
)
MONTH_FIGURES = """usage_month, billing_currency, effective_cost, billed_cost, facility_energy_kwh, facility_energy_kwh_low,
    facility_energy_kwh_high, provider_scope_2_location_based_kgco2e, provider_scope_2_market_based_kgco2e, status,
    unknown_because"""

SUMMARY = """with modelled as (
    select
        training_run_id,
        case when count(*) = count(modelled_location_based_kgco2e_low) then sum(modelled_location_based_kgco2e_low) end
            as modelled_low,
        case when count(*) = count(modelled_location_based_kgco2e_high) then sum(modelled_location_based_kgco2e_high) end
            as modelled_high
    from marts.fct_training_run_emissions_modelled
    where factor_set_id = 'location_direct_v1' and {runs}
    group by all
)

select
    summary.*, dim.region_id, dim.sub_account_id, dim.cluster_name, dim.chip_count, dim.attempt_count, dim.is_end_known,
    modelled.modelled_low, modelled.modelled_high
from (from marts.run_summary where {runs}) as summary
inner join marts.dim_training_runs as dim using (training_run_id)
left join modelled using (training_run_id)
order by training_run_id"""
MONTHS = f"select training_run_id, {MONTH_FIGURES} from marts.run_month_summary where {{runs}} order by 1, 2"
# by which evidence the bill's rows went to the run
COSTS = """select training_run_id, billing_currency, cost_component, attribution_rule, attribution_confidence,
    cast(sum(effective_cost) as decimal(38, 12)) as effective_cost,
    cast(sum(idle_share_effective_cost) as decimal(38, 12)) as idle_share_effective_cost
from marts.fct_training_run_costs
where {runs} and status not in ('not_published', 'no_cell')
group by all
order by 1, 2, effective_cost desc, 3, 4"""
ENERGY = """select training_run_id, energy_basis, power_confidence, pue_source,
    count(*) as months,
    sum(facility_energy_kwh) as facility_energy_kwh,
    sum(energy_kwh_measured) as measured, sum(energy_kwh_driver_power) as driver_power,
    sum(energy_kwh_utilisation_model) as utilisation_model, sum(energy_kwh_time_model) as time_model,
    min(telemetry_coverage_ratio) as least_telemetry_coverage_ratio
from marts.fct_training_run_energy
where {runs}
group by all
order by 1, facility_energy_kwh desc nulls last, 2, 3, 4"""
EMISSIONS = """select training_run_id, provider_name, provider_model_version, allocation_confidence, status,
    count(*) as months, sum(provider_scope_2_location_based_kgco2e) as provider_scope_2_location_based_kgco2e
from marts.fct_training_run_emissions
where {runs}
group by all
order by 1, 2, 3 nulls last, 4, 5"""
FACTORS = """select training_run_id, region_id, modelled.factor_id, source, value as factor_kgco2e_per_kwh, data_year
from marts.fct_training_run_emissions_modelled as modelled
left join marts.dim_emission_factors as factors on modelled.factor_id = factors.factor_id
where modelled.factor_set_id = 'location_direct_v1' and {runs}
group by all
order by 1, 2, 3"""
BILLS = """select training_run_id, source_name, sub_account_id, service_code, region_id, billing_currency,
    cast(sum(effective_cost) as decimal(38, 12)) as effective_cost
from marts.fct_run_cell_costs
where {runs}
group by all
order by 1, effective_cost desc, 2, 3, 4, 5"""
TELEMETRY = """select training_run_id, source_name, count(distinct host) as hosts,
    cast(sum(matched_sample_count) as bigint) as matched_samples
from marts.fct_telemetry_matches
where {runs} and matched_sample_count > 0
group by all
order by 1, 2"""
ATTEMPTS = """select training_run_id, attempt_id, started_at, ended_at, state, record_system, lost_hours, lost_because
from marts.fct_run_attempts
where {runs}
order by 1, started_at, attempt_id"""
LOST = """select training_run_id, cause, billing_currency, cast(sum(effective_cost) as decimal(38, 12)) as effective_cost
from marts.fct_lost_work
where {runs}
group by all
order by 1, 2, 3"""
CONFLICTS = """select training_run_id, field, source_a, value_a, source_b, value_b, chosen
from marts.fct_run_conflicts
where {runs}
order by 1, 2, 3, 5"""
PARTS = {
    "months": MONTHS,
    "costs": COSTS,
    "energy": ENERGY,
    "emissions": EMISSIONS,
    "factors": FACTORS,
    "bills": BILLS,
    "telemetry": TELEMETRY,
    "attempts": ATTEMPTS,
    "lost": LOST,
    "conflicts": CONFLICTS,
}
CONFIDENCE = ("low", "medium", "high")  # the weakest first


def accounts(publication: Publication, run_ids: Sequence[str]) -> list[Account]:
    """The account of each of these runs that the publication has, in the order of their ids."""
    runs = f"training_run_id in ({', '.join(map(literal, run_ids))})" if run_ids else "false"
    of_run: dict[str, dict[str, list[Row]]] = {}
    for part, sql in PARTS.items():
        for row in publication.rows(sql.replace("{runs}", runs)):
            of_run.setdefault(row.pop("training_run_id"), {}).setdefault(part, []).append(row)
    return [_account(row, of_run.get(row["training_run_id"], {})) for row in publication.rows(SUMMARY.replace("{runs}", runs))]


def literal(text: str) -> str:
    """A text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def _account(summary: Row, found: Mapping[str, list[Row]]) -> Account:
    parts = {part: found.get(part, []) for part in PARTS}
    confidences = {
        "cost": _weakest(row["attribution_confidence"] for row in parts["costs"]),
        "energy": ", ".join(_energy_words(parts["energy"])) or None,
        "emissions": _weakest(row["allocation_confidence"] for row in parts["emissions"]),
    }
    unknown = (summary["unknown_because"] or "").split("; ")
    kept = ("low", "modelled_low", "modelled_high")
    own = {name: value for name, value in summary.items() if name not in {f for f, *_ in FIGURES} and not name.endswith(kept)}
    own.pop("facility_energy_kwh_high")
    account: Account = {
        **own,
        "figures": [
            _figure(summary, name, unit, bounds, reasons, unknown, confidences) for name, unit, bounds, reasons in FIGURES
        ],
        **parts,
    }
    return account | {"advice": advice_for(account)}


def _figure(
    summary: Row,
    name: str,
    unit: str,
    bounds: tuple[str, str] | None,
    reasons: tuple[str, ...],
    unknown: Sequence[str],
    confidences: Mapping[str, str | None],
) -> dict[str, Any]:
    """One figure with its unit, bounds, confidence and id for `trainledger trace`; where it is null, the reason."""
    value: Decimal | None = summary[name]
    low, high = (summary[bound] for bound in bounds) if bounds and value is not None else (None, None)
    rests_on = "cost" if not unit else "emissions" if name.startswith("provider") else "energy"
    return {
        "name": name,
        "value": value,
        "unit": unit or summary["billing_currency"],
        "low": low,
        "high": high,
        "confidence": confidences[rests_on] if value is not None else None,
        "unknown_because": next((one for start in reasons for one in unknown if one.startswith(start)), None)
        if value is None
        else None,
        "id": f"run_summary/{quote(summary['training_run_id'], safe='')}/{name}",
    }


def _weakest(confidences: Any) -> str | None:
    return min((one for one in confidences if one), key=CONFIDENCE.index, default=None)


def _energy_words(energies: Sequence[Row]) -> list[str]:
    """What the energy rests on: the bases of its months, then the sources of power."""
    known = [row for row in energies if row["facility_energy_kwh"] is not None]
    return [*dict.fromkeys(row["energy_basis"] for row in known), *dict.fromkeys(row["power_confidence"] for row in known)]


def jsonable(value: Any) -> Any:
    """The same for JSON: exact numbers and dates as text, as `trainledger sql --format json` has them."""
    if isinstance(value, dict):
        return {name: jsonable(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else plain(value)

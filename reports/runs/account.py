"""What a run cost, which energy it used, what was emitted; how each is known and from what. A page of dbt a part, for many runs.

Every figure is a column of a page (dbt/models/pages/runs); nothing is added up here. An account is plain data with decimals, so
that a page, a terminal and JSON have the same.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from reports import pages
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
PARTS = ("months", "costs", "energy", "emissions", "factors", "bills", "telemetry", "attempts", "lost", "conflicts")
SUMMARY = "run_account"
PAGES = {part: f"run_account_{part}" for part in PARTS}
CONFIDENCE = ("low", "medium", "high")  # the weakest first


def accounts(publication: Publication, run_ids: Sequence[str]) -> list[Account]:
    """The account of each of these runs that the publication has, in the order of their ids."""
    runs = {"runs": [*run_ids]}
    of_run: dict[str, dict[str, list[Row]]] = {}
    for part, page in PAGES.items():
        for row in pages.rows(publication, page, runs, is_needed=True):
            of_run.setdefault(row.pop("training_run_id"), {}).setdefault(part, []).append(row)
    summaries = pages.rows(publication, SUMMARY, runs, is_needed=True)
    return [_account(row, of_run.get(row["training_run_id"], {})) for row in summaries]


def _account(summary: Row, found: Mapping[str, list[Row]]) -> Account:
    parts = {part: found.get(part, []) for part in PARTS}
    confidences = {
        "cost": _weakest(row["attribution_confidence"] for row in parts["costs"]),
        "energy": ", ".join(_energy_words(parts["energy"])) or None,
        "emissions": _weakest(row["allocation_confidence"] for row in parts["emissions"]),
    }
    unknown = (summary["unknown_because"] or "").split("; ")
    stated = {name for figure, _, bounds, _ in FIGURES for name in (figure, *(bounds or ()))} | {"time_model_kwh"}
    own = {name: value for name, value in summary.items() if name not in stated}
    account: Account = {
        **own,
        "figures": [
            _figure(summary, name, unit, bounds, reasons, unknown, confidences) for name, unit, bounds, reasons in FIGURES
        ],
        **parts,
    }
    return account | {"advice": advice_for(account, summary["time_model_kwh"])}


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

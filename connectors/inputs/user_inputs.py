"""The organisation's own figures as a CSV: what it knows better than our seeds, each with its unit, its source and its dates.

Which figures there are and in which units is declared here, and a row that is none of them is refused by name. What each of them
takes the place of is decided in SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from connectors.deliveries import Converted, Delivery
from connectors.formats.schema import Date, Number, Schema, Text, Timestamp, optional, required
from connectors.inputs.capacities import CAPACITIES, write_answer_as_table
from connectors.inputs.comparison_plans import PLANS
from connectors.inputs.model_names import MODEL_NAMES
from connectors.inputs.own_prices import PRICES
from connectors.inputs.small_tables import CURRENCY, Row, Table, convert_table
from connectors.layouts.single_files import find_file_deliveries

KIND = "user_inputs"

SCHEMA = Schema(
    columns=(
        required("kind", Text, filled=True),
        required(
            "key", Text, filled=True
        ),  # what the figure is of: a run, a region, an accelerator type, a workload or a fiscal year
        required("value", Number, filled=True, below=1e24),
        required("unit", Text, filled=True),
        required("source", Text, filled=True),  # a figure without a source cannot be disclosed
        *optional("training_run_id region_id basis", Text),  # of this run or region only; what was measured, or how it is bought
        *optional("provider_name", Text),  # of a price
        *optional("same_as", Text),  # of a model's name
        *optional("pair_key promise target_metric target_direction", Text),  # of a comparison plan, as the two below
        *optional("target_value tokens", Number, below=1e15),
        *optional("started_at ended_at", Timestamp),  # of capacity paid ahead
        *optional("valid_from valid_to source_date", Date),  # valid_to is excluded; null: no limit
    ),
    remedy_page="docs/sources/user_inputs.md",
    measures={"value": 9, "target_value": 9, "tokens": 0},
)
YEAR = re.compile(r"[12]\d{3}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Figure:
    """One kind of figure: its units, each with what makes it the first one, and what a value in the first unit may be."""

    units: dict[str, float]
    least: float
    most: float
    narrows: tuple[str, ...]  # the columns that may name the only runs or regions; `key` names the rest
    bases: tuple[str, ...]
    is_money: bool = False  # in any currency, as a code of three letters
    is_of_a_year: bool = False  # key is the fiscal year, by the calendar year in which it ends


PER_KWH = {"kgCO2e/kWh": 1.0, "gCO2e/kWh": 0.001, "kgCO2e/MWh": 0.001, "tCO2e/MWh": 1.0}
WATTS = Figure({"W": 1.0, "kW": 1000.0}, 0, 100_000, ("training_run_id", "region_id"), ())
PORT = Figure({}, 0, 1e12, (), (), is_money=True)  # what moving a workload costs once
MASSES = {"kgCO2e": 1.0, "tCO2e": 1000.0}
PORT_EMISSIONS = Figure(MASSES, 0, 1e12, (), ())  # of running on both for a while
YEARS_MASS = Figure(MASSES, 0, 9e11, (), (), is_of_a_year=True)
SCOPE_3_CATEGORIES = range(1, 16)  # of the GHG Protocol; 1 without the cloud, whose tonnes the providers report
FIGURES = {
    "measured_energy": Figure(
        {"kWh": 1.0, "Wh": 0.001, "MWh": 1e3, "GWh": 1e6}, 0, 1e11, ("region_id",), ("chip", "chip_host", "it", "facility")
    ),
    "pue": Figure({"ratio": 1.0}, 1, 10, ("training_run_id",), ()),
    "idle_power": WATTS,
    "max_power": WATTS,
    # no grid emits more than 1.5 kg; a market-based or lifecycle factor would be another quantity under the same name
    "factor": Figure(PER_KWH, 0, 1.5, ("training_run_id",), ("location_based",)),
    # of an account that has accelerators for nothing, all of their price: a zero on its bill is then no doubt
    "grant": Figure({"ratio": 1.0}, 1, 1, (), ()),
    **dict.fromkeys(("porting_cost_to_trainium", "porting_cost_to_tpu"), PORT),
    **dict.fromkeys(("porting_emissions_to_trainium", "porting_emissions_to_tpu"), PORT_EMISSIONS),
    # what the organisation's inventory has beside the cloud, by fiscal year: without it no framework's list is complete
    **dict.fromkeys(("own_scope_1", "own_scope_2_location_based", "own_scope_2_market_based"), YEARS_MASS),
    **dict.fromkeys((f"own_scope_3_category_{number}" for number in SCOPE_3_CATEGORIES), YEARS_MASS),
    # of the cloud in months of the year before the first bill of a payer: 0 where there was no account yet
    **dict.fromkeys(("own_cloud_location_based", "own_cloud_market_based"), YEARS_MASS),
    "own_revenue": Figure({}, 0, 1e15, (), (), is_money=True, is_of_a_year=True),
    "own_headcount": Figure({"employees": 1.0}, 0, 1e8, (), (), is_of_a_year=True),
}


def _mistakes(row: Row) -> Iterator[tuple[str, str]]:
    kind, unit, basis = row["kind"], row["unit"], row.get("basis")
    if kind not in FIGURES:
        yield "kind", f"where a kind is one of {', '.join(FIGURES)}"
        return
    figure = FIGURES[kind]
    if unit not in figure.units and not (figure.is_money and CURRENCY.fullmatch(unit)):
        yield "unit", f"where {kind} is given in {'a currency, like USD' if figure.is_money else ', '.join(figure.units)}"
    if not figure.least <= float(row["value"]) * figure.units.get(unit, 1.0) <= figure.most:
        yield "value", f"where {kind} lies from {figure.least:g} to {figure.most:g} {next(iter(figure.units), unit)}"
    for name in ("training_run_id", "region_id"):
        if row.get(name) and name not in figure.narrows:
            yield name, f"which {kind} does not take: its key has it"
    if (basis or kind == "measured_energy") and basis not in figure.bases:
        yield "basis", f"where the basis of {kind} is " + (f"one of {', '.join(figure.bases)}" if figure.bases else "empty")
    if kind == "measured_energy":
        yield from _wrong_month(row)
    if figure.is_of_a_year and not YEAR.fullmatch(row["key"]):
        yield "key", f"where {kind} is of a fiscal year, like 2026"


def _wrong_month(row: Row) -> Iterator[tuple[str, str]]:
    """Energy is of one month: divided over several by a guess, the reading of May would change April."""
    start, end = row.get("valid_from"), row.get("valid_to")
    if start is None or start.day != 1:
        yield "valid_from", "where measured_energy names its month by the first day"
    elif end and end != (start + timedelta(days=31)).replace(day=1):
        yield "valid_to", "where measured_energy is of one calendar month"


_FIGURES = Table("figures", SCHEMA, ("kind", "key", "training_run_id", "region_id", "valid_from"), _mistakes)
FORMS = (PLANS, PRICES, MODEL_NAMES, CAPACITIES, _FIGURES)
find_deliveries = partial(find_file_deliveries, kind=KIND, endings=(".csv", ".csv.gz", ".json"))


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Read the one table of a delivery, or one of AWS's answers as a table."""
    (info,) = delivery.objects
    if not info.key.lower().endswith(".json"):
        return convert_table(delivery, files, folder, store_uri, forms=FORMS)
    table = folder / "answer.csv"
    write_answer_as_table(files[info.key], info.key, f"{store_uri}/{info.key}", table)
    try:
        return convert_table(delivery, {info.key: table}, folder, store_uri, forms=(CAPACITIES,))
    finally:
        table.unlink()

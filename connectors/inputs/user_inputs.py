"""The organisation's own figures as a CSV: what it knows better than our seeds, each with its unit, its source and its dates.

Which figures there are and in which units is declared here, and a row that is none of them is refused by name. What each of them
takes the place of is decided in SQL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from connectors.deliveries import Converted, Delivery
from connectors.formats.delimited import CsvFile
from connectors.formats.schema import Date, Number, Schema, Text, optional, required
from connectors.formats.values import Rows
from connectors.inputs import own_prices
from connectors.inputs.small_tables import convert_table
from connectors.layouts.single_files import find_file_deliveries

KIND = "user_inputs"

SCHEMA = Schema(
    columns=(
        required("kind", Text, filled=True),
        required("key", Text, filled=True),  # what the figure is of: a run, a region, an accelerator type or a workload
        required("value", Number, filled=True, below=1e24),
        required("unit", Text, filled=True),
        required("source", Text, filled=True),  # a figure without a source cannot be disclosed
        *optional("training_run_id region_id basis", Text),  # of this run or region only; what was measured, or how it is bought
        *optional("provider_name", Text),  # of a price
        *optional("valid_from valid_to source_date", Date),  # valid_to is excluded; null: no limit
    ),
    remedy_page="docs/sources/user_inputs.md",
    measures={"value": 9},
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One kind of figure: its units, each with what makes it the first one, and what a value in the first unit may be."""

    units: dict[str, float]
    least: float
    most: float
    narrows: tuple[str, ...]  # the columns that may name the only runs or regions; `key` names the rest
    bases: tuple[str, ...]
    is_money: bool = False  # in any currency, as a code of three letters

    def takes(self, unit: str) -> bool:
        return unit in self.units or (self.is_money and re.fullmatch("[A-Z]{3}", unit) is not None)


PER_KWH = {"kgCO2e/kWh": 1.0, "gCO2e/kWh": 0.001, "kgCO2e/MWh": 0.001, "tCO2e/MWh": 1.0}
WATTS = Figure({"W": 1.0, "kW": 1000.0}, 0, 100_000, ("training_run_id", "region_id"), ())
PORT = Figure({}, 0, 1e12, (), (), is_money=True)  # what moving a workload costs once
PORT_EMISSIONS = Figure({"kgCO2e": 1.0, "tCO2e": 1000.0}, 0, 1e12, (), ())  # of running on both for a while
FIGURES = {
    "measured_energy": Figure(
        {"kWh": 1.0, "Wh": 0.001, "MWh": 1e3, "GWh": 1e6}, 0, 1e11, ("region_id",), ("chip", "chip_host", "it", "facility")
    ),
    "pue": Figure({"ratio": 1.0}, 1, 10, ("training_run_id",), ()),
    "idle_power": WATTS,
    "max_power": WATTS,
    # no grid emits more than 1.5 kg; a market-based or lifecycle factor would be another quantity under the same name
    "factor": Figure(PER_KWH, 0, 1.5, ("training_run_id",), ("location_based",)),
    **dict.fromkeys(("porting_cost_to_trainium", "porting_cost_to_tpu"), PORT),
    **dict.fromkeys(("porting_emissions_to_trainium", "porting_emissions_to_tpu"), PORT_EMISSIONS),
}


def _check(row: dict[str, Any], index: int, rows: Rows) -> None:
    figure = FIGURES.get(row["kind"])
    if figure is None:
        raise rows.error("kind", index, row["kind"], f"where a kind is one of {', '.join(FIGURES)}", "wrong_value")
    if not figure.takes(row["unit"]):
        units = "a currency, like USD" if figure.is_money else ", ".join(figure.units)
        raise rows.error("unit", index, row["unit"], f"where {row['kind']} is given in {units}", "wrong_value")
    if not figure.least <= float(row["value"]) * figure.units.get(row["unit"], 1.0) <= figure.most:
        bounds = f"from {figure.least:g} to {figure.most:g} {next(iter(figure.units), row['unit'])}"
        raise rows.error("value", index, row["value"], f"where {row['kind']} lies {bounds}", "wrong_value")
    for name in ("training_run_id", "region_id"):
        if row.get(name) and name not in figure.narrows:
            raise rows.error(name, index, row[name], f"which {row['kind']} does not take: its key has it", "wrong_value")
    if (row.get("basis") or row["kind"] == "measured_energy") and row.get("basis") not in figure.bases:
        words = f"one of {', '.join(figure.bases)}" if figure.bases else "empty"
        raise rows.error("basis", index, row.get("basis"), f"where the basis of {row['kind']} is {words}", "wrong_value")
    if row["kind"] == "measured_energy":
        _check_month(row.get("valid_from"), row.get("valid_to"), index, rows)


def _check_month(start: date | None, end: date | None, index: int, rows: Rows) -> None:
    """Energy is of one month: divided over several by a guess, the reading of May would change April."""
    if start is None or start.day != 1:
        value = start and start.isoformat()
        raise rows.error("valid_from", index, value, "where measured_energy names its month by the first day", "wrong_value")
    if end and end != (start + timedelta(days=31)).replace(day=1):
        raise rows.error("valid_to", index, end.isoformat(), "where measured_energy is of one calendar month", "wrong_value")


KEY = ("kind", "key", "training_run_id", "region_id", "valid_from")
find_deliveries = partial(find_file_deliveries, kind=KIND, endings=(".csv", ".csv.gz"))


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Read a table of figures, or one of prices as figures of kind `price`."""
    (info,) = delivery.objects
    uri = f"{store_uri}/{info.key}"
    if own_prices.COLUMN not in CsvFile(files[info.key], info.key, uri).header():
        return convert_table(delivery, files, folder, store_uri, SCHEMA, _check, KEY)
    converted = convert_table(delivery, files, folder, store_uri, own_prices.SCHEMA, own_prices.check, own_prices.KEY)
    for part in converted.parts:
        own_prices.write_as_figures(part.path, info.key, uri)
    return converted

"""From a trainledger.yaml to the tables of the contract: reads the exports, applies the rules, returns rows by contract key.

Every table is a dictionary from key to a dictionary of amounts, Decimals with the published scale; unknown is None.
"""

from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path

import yaml

from . import costs as cost_tables
from . import emissions as emission_tables
from .blocks import prepare_blocks
from .carbon import read_carbon
from .exports import Delivery, bill_deliveries, carbon_deliveries, elect
from .ladder import parts_of
from .lines import COLUMNS, Line, line_of
from .numerals import OracleError
from .prepaid import prepaid_rows
from .records import EPOCH, MICROSECOND, STILL_HELD, Runs, read_records, resolve
from .rows import rows_of

Tables = dict[str, dict[tuple, dict]]


def _provider_key(rows: dict[tuple, dict], place: int) -> dict[tuple, dict]:
    """Cells of the contract name the provider after the source; inside, it goes without saying."""
    return {(*key[:place], "AWS", *key[place:]): row for key, row in rows.items()}


def _read_lines(deliveries: list[Delivery]) -> Iterator[Line]:
    for delivery in deliveries:
        for key, path in delivery.files:
            for number, row in enumerate(rows_of(path, COLUMNS), start=1):
                yield line_of(delivery.source_name, key, number, row)


def _run_months(runs: Runs, billed: set[tuple[str, date]], last_month: date | None) -> set[tuple[str, date]]:
    """Run-months with billed rows or with chips held; a run that still holds its node counts up to the last month on a bill."""
    months = set(billed)
    for windows in runs.windows.values():
        for window in windows:
            if window.run in runs.ambiguous:
                continue
            month = (EPOCH + window.start * MICROSECOND).date().replace(day=1)
            last = last_month if window.end == STILL_HELD else (EPOCH + (window.end - 1) * MICROSECOND).date().replace(day=1)
            while last is not None and month <= last:
                months.add((window.run, month))
                month = date(month.year + month.month // 12, month.month % 12 + 1, 1)
    return months


class Oracle:
    """One reading of the exports and the tables that follow from it."""

    def __init__(self, config: Path, as_published: datetime | None = None) -> None:
        settings = yaml.safe_load(config.read_text(encoding="utf-8"))
        if settings.get("carbon_weights", "list_cost") != "list_cost":
            raise OracleError("the oracle knows list-cost weights only")
        self._base = config.parent
        self._sources = settings["sources"]
        self._as_published = as_published
        self.reporting_currency = settings.get("organisation", {}).get("reporting_currency", "USD")
        self.tag_keys = settings.get("run_tag_keys", ["training_run_id"])
        self.lines = list(_read_lines(self._elected("aws_cur", bill_deliveries)))
        locations = self._locations("training_runs")
        self.runs = resolve([record for location in locations for record in read_records(location, as_published)])
        prepare_blocks(self.lines)
        self.parts = [part for line in self.lines for part in parts_of(line, self.runs, self.tag_keys)]
        self.carbon = read_carbon(self._elected("aws_carbon", carbon_deliveries))

    def _locations(self, kind: str) -> list[Path]:
        return [self._base / source["location"] for source in self._sources if source["kind"] == kind]

    def _elected(self, kind: str, find: Callable[[str, Path], Iterator[Delivery]]) -> list[Delivery]:
        sources = [source for source in self._sources if source["kind"] == kind and source.get("book", True)]
        found = (delivery for source in sources for delivery in find(source["name"], self._base / source["location"]))
        return elect(found, self._as_published)

    def tables(self) -> Tables:
        rounding = cost_tables.rounding_of_savings_plans(self.lines)
        costs = cost_tables.gather(self.parts, rounding)
        emissions = emission_tables.allocate(self.carbon, emission_tables.weigh(self.parts))
        billed_months = {(key[0], key[6]) for key in costs.runs}
        run_months = _run_months(self.runs, billed_months, max((line.usage_month for line in self.lines), default=None))
        reconciled = cost_tables.conservation_rows(self.lines, rounding, costs)
        return {
            "fct_run_cell_costs": _provider_key(cost_tables.run_cell_rows(costs), 2),
            "fct_residual_costs": _provider_key(cost_tables.residual_rows(costs), 1),
            "fct_training_run_costs": cost_tables.run_rows(costs, run_months, self.reporting_currency),
            "fct_prepaid": prepaid_rows(self.lines),
            "fct_run_cell_emissions": _provider_key(emission_tables.run_cell_rows(emissions, self.carbon), 2),
            "fct_residual_emissions": _provider_key(emission_tables.residual_rows(emissions, self.carbon), 1),
            "fct_training_run_emissions": emission_tables.book_rows(emissions, self.carbon, run_months),
            "fct_training_run_emissions_versions": emission_tables.version_rows(emissions),
            "fct_reconciliation": reconciled | emission_tables.conservation_rows(emissions, self.carbon),
        }

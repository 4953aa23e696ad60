"""The provider's carbon rows: exact masses by cell and model version, what must be quarantined, which version is elected."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime

from . import facts, seeds
from .exports import Delivery, is_one_month, moment, months_named
from .numerals import MASS, units
from .rows import rows_of

# The two totals come first: the loaded view takes them by place.
MASS_COLUMNS = {
    "provider_total_location_based_kgco2e": "total_lbm_emissions_value",
    "provider_total_market_based_kgco2e": "total_mbm_emissions_value",
    "provider_scope_1_kgco2e": "total_scope_1_emissions_value",
    "provider_scope_2_location_based_kgco2e": "total_scope_2_lbm_emissions_value",
    "provider_scope_2_market_based_kgco2e": "total_scope_2_mbm_emissions_value",
    "provider_scope_3_location_based_kgco2e": "total_scope_3_lbm_emissions_value",
    "provider_scope_3_market_based_kgco2e": "total_scope_3_mbm_emissions_value",
}
MASSES = (*MASS_COLUMNS, "provider_scope_3_unsplit_kgco2e")  # AWS splits its scope 3 by method, Google never

COLUMNS = {
    "payer_account_id", "usage_account_id", "product_code", "region_code", "location", "model_version",
    "usage_period_start", "usage_period_start_date", *MASS_COLUMNS.values(),
}  # fmt: skip

KG_PER_TONNE = 1000
Masses = tuple  # one entry per name of MASSES, whole units of 1e-9 kg or None
CarbonCell = tuple  # source, provider, payer, sub account, product, region, month, model version


@dataclass
class CarbonCells:
    masses: dict[CarbonCell, Masses] = field(default_factory=dict)  # of the rows that stand
    quarantined: dict[CarbonCell, Masses] = field(default_factory=dict)
    elected: dict[tuple[str, str, date], str] = field(default_factory=dict)  # provider, payer, month -> model version
    of_periods: set[CarbonCell] = field(default_factory=set)  # those that are a share of a quarter or a year

    def is_elected(self, cell: CarbonCell) -> bool:
        return self.elected[cell[1], cell[2], cell[6]] == cell[7]


def version_order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def is_global(region: str, provider: str) -> bool:
    """A row without a region, however its provider writes that, has an empty one."""
    return region == ""


def _month(row: dict) -> date:
    start = row.get("usage_period_start") or row.get("usage_period_start_date")
    return moment(start.isoformat() if isinstance(start, datetime) else str(start)).date().replace(day=1)


def _region(row: dict) -> str:
    named = row.get("region_code") or row.get("location") or ""  # a region's code, Global, or a name no region has
    return "" if named.lower() == "global" else named


def _masses(row: dict) -> Masses:
    tonnes = [units(row.get(column), MASS) for column in MASS_COLUMNS.values()]
    return (*(None if amount is None else amount * KG_PER_TONNE for amount in tonnes), None)


def whole_sum(rows: Iterable[Masses]) -> Masses:
    """Sum by mass; unknown when any part is."""
    return tuple(None if None in column else sum(column) for column in zip(*rows, strict=True))


@dataclass(frozen=True)
class CarbonRow:
    cell: CarbonCell
    masses: Masses
    is_believed: bool = True  # a row in an unknown region, or seen before, is held back


def gather(rows: Iterable[CarbonRow]) -> CarbonCells:
    """Add up by cell; a row with a negative mass is held back whole. Every version is kept, the highest is the book."""
    standing: dict[CarbonCell, list[Masses]] = defaultdict(list)
    quarantined: dict[CarbonCell, list[Masses]] = defaultdict(list)
    cells = CarbonCells()
    for row in rows:
        is_negative = any(mass is not None and mass < 0 for mass in row.masses)
        (standing if row.is_believed and not is_negative else quarantined)[row.cell].append(row.masses)
        _, provider, payer, *_, month, version = row.cell
        known = cells.elected.get((provider, payer, month), version)
        cells.elected[provider, payer, month] = max(known, version, key=version_order)
    cells.masses = {cell: whole_sum(rows) for cell, rows in standing.items()}
    cells.quarantined = {cell: whole_sum(rows) for cell, rows in quarantined.items()}
    return cells


# a report of the console: totals under shorter names, a region by its name, and neither account nor unit
CONSOLE = {"product_code": "service", "location": "region", "model_version": "model_version"} | {
    name: name.removesuffix("_value") if name in ("total_lbm_emissions_value", "total_mbm_emissions_value") else name
    for name in MASS_COLUMNS.values()
}


def report_rows(delivery: Delivery) -> Iterator[tuple[str, list[date], tuple, Masses]]:
    """The rows of a report of the console: model version, months, payer to region, masses."""
    for key, path in delivery.files:
        accounts = dict(part.split("=") for part in key.split("/") if part.startswith(("payer=", "account=")))
        payer, account = accounts["payer"], accounts.get("account", accounts["payer"])
        for row in rows_of(path, {"usage_month", "usage_quarter", "usage_year", *CONSOLE.values()}):
            stated = {name: row.get(column) for name, column in CONSOLE.items()}
            named = _region(stated)
            place = (
                payer,
                account,
                facts.carbon_product(stated["product_code"] or ""),
                seeds.region_by_carbon_name().get(named, named),
            )
            text = str(row.get("usage_month") or row.get("usage_quarter") or row.get("usage_year"))
            months = [date.fromisoformat(f"{text}-01")] if "usage_month" in row else months_named(text)
            yield str(row["model_version"]), months, place, _masses(stated)


def console_rows(deliveries: Iterable[Delivery]) -> Iterator[CarbonRow]:
    """The rows of a monthly report that are of the delivery's month and version."""
    for delivery in deliveries:
        of_month, _, of_version = delivery.partition.split("~")[0].partition("@")
        for version, (month, *_), place, masses in report_rows(delivery):
            if (f"{month:%Y-%m}", version) == (of_month, of_version):
                is_known = is_global(place[-1], "AWS") or place[-1] in facts.KNOWN_REGIONS
                yield CarbonRow((delivery.source_name, "AWS", *place, month, version), masses, is_known)


def answer_rows(deliveries: Iterable[Delivery]) -> Iterator[CarbonRow]:
    """The groups of a saved answer that are of the delivery's month."""
    for delivery in deliveries:
        of_month = delivery.partition.partition("~")[0]
        for key, path in delivery.files:
            accounts = dict(part.split("=") for part in key.split("/") if part.startswith(("payer=", "account=")))
            for result in json.loads(path.read_text(encoding="utf-8"))["Results"]:
                if result["TimePeriod"]["Start"][:7] == of_month and is_one_month(result["TimePeriod"]):
                    named, stated = result["DimensionsValues"], result["EmissionsValues"]
                    row = {
                        column: stated.get(column.upper().replace("_EMISSIONS_VALUE", "_CARBON_EMISSIONS"), {}).get("Value")
                        for column in MASS_COLUMNS.values()
                    }
                    region = _region({"location": named.get("REGION")})
                    place = (
                        accounts["payer"],
                        named.get("USAGE_ACCOUNT_ID") or accounts.get("account", accounts["payer"]),
                        facts.carbon_product(named.get("SERVICE") or ""),
                        seeds.region_by_carbon_name().get(region, region),
                    )
                    is_known = is_global(place[-1], "AWS") or place[-1] in facts.KNOWN_REGIONS
                    cell = (delivery.source_name, "AWS", *place, date.fromisoformat(f"{of_month}-01"), result["ModelVersion"])
                    yield CarbonRow(cell, _masses(row), is_known)


def beside(exported: Iterable[CarbonRow], reported: Iterable[CarbonRow]) -> Iterator[CarbonRow]:
    """Of reports what no export has: an export of a payer's month is its book, whichever accounts the report is of."""
    covered = {(row.cell[2], row.cell[6]) for row in exported}
    return (row for row in reported if (row.cell[2], row.cell[6]) not in covered)


def aws_rows(deliveries: Iterable[Delivery]) -> Iterator[CarbonRow]:
    for delivery in deliveries:
        partition_version = delivery.partition.partition("@")[2]
        for _, path in delivery.files:
            for row in rows_of(path, COLUMNS):
                version, region, month = row.get("model_version") or partition_version, _region(row), _month(row)
                product = facts.carbon_product(row.get("product_code") or "")
                place = row["payer_account_id"], row["usage_account_id"], product, region, month, version
                is_known = is_global(region, "AWS") or region in facts.KNOWN_REGIONS
                yield CarbonRow((delivery.source_name, "AWS", *place), _masses(row), is_known)

"""Google's carbon rows: kilograms by project, service and location, scope 3 in one piece. A repeated row counts once."""

import re
from collections.abc import Iterable, Iterator
from datetime import date

from . import google_facts as facts
from .carbon import CarbonRow, is_global
from .exports import Delivery
from .google_exports import at, nested_rows
from .numerals import MASS, units
from .projects import Projects

_FOOTPRINT = "carbon_footprint_kgCO2e"
_ZONE = re.compile(r"[a-z]+(?:-[a-z]+)+[0-9]+-(?:[a-z]|ai[0-9]+[a-z])")
# in the order of carbon.MASSES: scope 3 is not distinguished by method
_MASSES = (
    "carbon_footprint_total_kgCO2e.location_based", "carbon_footprint_total_kgCO2e.market_based", f"{_FOOTPRINT}.scope1",
    f"{_FOOTPRINT}.scope2.location_based", f"{_FOOTPRINT}.scope2.market_based", None, None, f"{_FOOTPRINT}.scope3",
)  # fmt: skip


def _region(row: dict) -> str:
    region, location = (str(at(row, f"location.{name}") or "") for name in ("region", "location"))
    if "-" in region:  # what has none is a country, a continent or the world
        return region
    place = location.rsplit("-", 1)[0] if _ZONE.fullmatch(location) else location
    return place if "-" in place else ""


def _month(row: dict) -> date:
    month = row["usage_month"]
    return (month if isinstance(month, date) else date.fromisoformat(str(month)[:10])).replace(day=1)


def carbon_projects(deliveries: Iterable[Delivery]) -> Iterator[tuple[date, str, str]]:
    """Month, id and number of the project of each row."""
    for delivery in deliveries:
        for _, path in delivery.files:
            for row in nested_rows(path):
                yield _month(row), str(at(row, "project.id") or ""), str(at(row, "project.number") or "")


def google_rows(deliveries: Iterable[Delivery], projects: Projects) -> Iterator[CarbonRow]:
    """A row that is equal in every column was read already; one that only repeats the masses of its cell is held back."""
    read: set[str] = set()
    counted: set[tuple] = set()
    for delivery in deliveries:
        for _, path in delivery.files:
            for row in nested_rows(path):
                spelled = f"{delivery.source_name}{row}"
                if spelled in read:
                    continue
                read.add(spelled)
                masses = tuple(None if name is None else units(at(row, name), MASS) for name in _MASSES)
                month = _month(row)
                number, project_id = str(at(row, "project.number") or ""), str(at(row, "project.id") or "")
                account = projects.account_of(month, number, project_id)
                place = row["billing_account_id"], account, str(at(row, "service.id") or "")
                cell = (delivery.source_name, "Google Cloud", *place, _region(row), month, str(row["carbon_model_version"]))
                identity = (*cell, at(row, "location.location"), *masses)
                is_believed = identity not in counted and (is_global(cell[5], cell[1]) or cell[5] in facts.REGIONS)
                counted.add(identity)
                yield CarbonRow(cell, masses, is_believed)

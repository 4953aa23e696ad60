"""What the organisation's inventory has beside the cloud, of the fiscal year that ends with August 2026: figures of its own."""

from __future__ import annotations

from pathlib import Path

from dagster_project.demo.clock import seconds
from dagster_project.demo.files import put

FISCAL_YEAR, FIRST_MONTH = "2026", 9  # September 2025 to August 2026: the last year of which every month is published
OWN = {  # tCO2e
    "own_scope_1": "118.4",
    "own_scope_2_location_based": "342.7",
    "own_scope_2_market_based": "96.1",
    "own_cloud_location_based": "0",  # the accounts were opened in November 2025 and later
    "own_cloud_market_based": "0",
}
CATEGORIES = ("2210.5", "486.2", "71.9", "55.3", "6.8", "308.4", "141", "0", "0", "0", "0", "0", "0", "0", "0")
NOTHING = "not significant: screened by the controller (invented)"


def write_inventory(root: Path) -> None:
    masses = OWN | {f"own_scope_3_category_{number}": value for number, value in enumerate(CATEGORIES, 1)}
    rows = [
        (kind, value, "tCO2e", NOTHING if value == "0" else "inventory of the controller (invented)")
        for kind, value in masses.items()
    ]
    rows += [("own_revenue", "48000000", "USD", "profit and loss account (invented)")]
    rows += [("own_headcount", "312", "employees", "payroll in August 2026 (invented)")]
    lines = ["kind,key,value,unit,source,source_date"]
    lines += [",".join((kind, FISCAL_YEAR, value, unit, source, "2026-09-18")) for kind, value, unit, source in rows]
    put(root / f"inventory-{FISCAL_YEAR}.csv", "\n".join(lines) + "\n", seconds("2026-09-21T09:00:00"))
